"""The change of one connector: stop, read again, alter, read back, resume; or all of it is undone."""
