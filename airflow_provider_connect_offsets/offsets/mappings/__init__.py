"""Offset mappings that records prove.

- ``bisecting``: an offset mapping, and the search for mappings in long logs by reading few records
- ``matching``: all mappings of two short logs, by reading all records
"""
