"""Bounded replays: an interval of time is delivered once more."""
