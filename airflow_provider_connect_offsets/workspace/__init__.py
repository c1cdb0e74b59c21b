"""Datasets that tasks pass to each other by URI: their schemas, and how they are published.

``schemas``, ``flow_schemas`` columns of each dataset · ``layout``, ``fleet``, ``readiness`` directories of runs ·
``paths`` URIs, path segments, and files that a browser may get · ``files`` whole files, published atomically ·
``datasets`` rows in Parquet · ``outcome``, ``replay``, ``poison`` how an operation ended · ``series``, ``snapshots``
kept snapshots · ``journal_store`` where journals are kept.
"""
