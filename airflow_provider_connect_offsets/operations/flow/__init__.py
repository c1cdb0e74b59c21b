"""The reset of a MirrorMaker 2 flow as a whole, and the emptying of its topics alone; ``new_syncs`` proves a reset."""
