"""The model of replicated partitions: histories made up at random, what is true of them, and both as datasets."""
