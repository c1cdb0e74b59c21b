"""Datasets that tasks pass to each other by URI: their schemas, and how they are published.

``schemas``, ``flow_schemas`` columns of each dataset · ``layout``, ``fleet``, ``readiness`` directories of runs ·
``paths`` URIs and path segments · ``files`` whole files, published atomically · ``datasets`` rows in Parquet ·
``outcome`` how a change ended · ``served`` files that a browser may get.
"""
