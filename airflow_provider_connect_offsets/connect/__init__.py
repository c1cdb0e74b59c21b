"""Clients of what holds connectors and their offsets, behind the two protocols of ``protocols``."""
