"""Headers of all answers of the app."""

from __future__ import annotations

# Reports show names and messages from other systems. They run no script and fetch nothing; these headers enforce that.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
