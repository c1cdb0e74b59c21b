"""``connect-offsets``, the tool that KIP-199 proposed: source offsets out of and into where workers store them."""
