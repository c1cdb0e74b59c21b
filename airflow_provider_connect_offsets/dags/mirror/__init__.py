"""The ready DAGs of a MirrorMaker 2 flow."""
