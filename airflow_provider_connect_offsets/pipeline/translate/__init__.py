"""Where positions of a source lie in its remote topic: elements of what may stand where, bounds, answers."""
