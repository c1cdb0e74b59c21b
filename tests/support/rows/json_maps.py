"""Hypothesis strategies for source partitions and source offsets: maps of JSON primitives."""

from __future__ import annotations

from hypothesis import strategies as st

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
PRIMITIVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | TEXTS
    | st.floats(allow_nan=False, allow_infinity=False)
)
MAPS = st.dictionaries(TEXTS, PRIMITIVES, max_size=20)
# For those that take many of them.
SMALL_MAPS = st.dictionaries(TEXTS, PRIMITIVES, max_size=4)
