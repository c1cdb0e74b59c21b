"""The plan of a change: each offset before and after, and what the rules say of it."""
