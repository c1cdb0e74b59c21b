"""The reset of a MirrorMaker 2 flow, and emptying its own topics."""
