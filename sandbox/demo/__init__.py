"""``python -m sandbox.demo``: three changes on real parts, with a report at the end.

``__main__`` runs all of it · ``rewind``, ``poison`` and ``typo`` are the three changes · ``stage`` is their base ·
``runs`` makes DAG runs · ``runner`` is the process in which Airflow runs them · ``narration`` prints everything.
"""
