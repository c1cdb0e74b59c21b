"""What can be done: each operation with its stages and its explanation, run by the executor of ``saga``."""
