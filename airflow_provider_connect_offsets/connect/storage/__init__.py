"""Offsets where workers store them: offsets topics, a standalone worker's file, and who runs what is stored there."""
