"""Datasets that tasks hand to each other by URI: their schemas (standard library only), and how they are published.

``schemas`` columns of each dataset · ``files`` whole files, published at once · ``datasets`` rows in Parquet ·
``layout`` where a run's datasets lie.
"""
