"""The reset of a MirrorMaker 2 flow (``flow_reset``), its proof (``new_syncs``), and emptying its internal topics."""
