"""A small operator that follows Strimzi's contract, between a real API server and a real Connect worker."""
