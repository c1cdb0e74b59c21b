"""Consumer groups' offsets for the other cluster: what is compared, translated, and said of it."""
