"""Operations that are broken on purpose, at each step, and what must be true afterwards."""
