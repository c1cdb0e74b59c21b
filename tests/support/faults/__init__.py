"""Operations that are broken at each step, and checks of the state afterwards."""
