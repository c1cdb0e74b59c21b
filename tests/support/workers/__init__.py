"""Connect workers that answer by script, and proxies in front of real workers."""
