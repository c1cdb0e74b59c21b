"""Requests: what someone asks for, parsed and checked."""
