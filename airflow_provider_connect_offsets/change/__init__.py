"""The procedure: stop, re-read, alter, read back, resume, or put everything back."""
