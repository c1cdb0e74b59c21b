"""A model of one replicated partition: random histories, the truth on them, and both as datasets."""
