"""Airflow sensors: they wait in a worker's slot or, deferred, in a triggerer.

``connector`` states and positions · ``group`` consumer groups · ``mirror`` lag of a MirrorMaker 2 flow · ``backfill``
a run's turn to rewind its connector · ``waiting`` what they share.
"""
