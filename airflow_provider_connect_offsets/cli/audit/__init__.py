"""The commands ``connect-offsets audit list`` and ``audit verify``."""
