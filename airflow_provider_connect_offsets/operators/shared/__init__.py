"""What operators have in common."""
