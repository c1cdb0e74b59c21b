"""Records on which a sink failed."""
