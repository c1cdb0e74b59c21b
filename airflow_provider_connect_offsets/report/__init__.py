"""The page a person reads: one self-contained HTML file per run, and tables for the console."""
