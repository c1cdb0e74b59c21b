"""Stages that operations share, their single steps (``steps``), and messages about their sagas (``explained``)."""
