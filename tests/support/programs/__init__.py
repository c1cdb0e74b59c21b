"""Processes that tests start: ones that die half-way, Java, shells, ``spark-submit``; and compose files."""
