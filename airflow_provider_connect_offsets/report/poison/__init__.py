"""Records on which a sink stood."""
