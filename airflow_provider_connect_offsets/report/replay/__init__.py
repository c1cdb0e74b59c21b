"""Reports on bounded replays."""
