"""Consumer groups: committing translated offsets, and restoring what stood there before."""
