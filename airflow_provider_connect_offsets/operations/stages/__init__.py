"""Stages that operations share, and how what a dead process has left of them is settled (``recovery``)."""
