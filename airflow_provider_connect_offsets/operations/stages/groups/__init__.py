"""The stage that moves consumer groups, and what it keeps so that it can be undone."""
