"""The stage that removes orphaned offsets, and what it observes and writes."""
