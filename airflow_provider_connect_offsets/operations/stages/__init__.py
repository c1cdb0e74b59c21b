"""Stages that operations share, and how what a dead run has left of them is settled (``recovery``)."""
