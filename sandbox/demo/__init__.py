"""``python -m sandbox.demo``: the main job on real parts, three times, with a page at the end.

``__main__`` the whole show · ``acts`` the three changes · ``runs`` DAG runs, as the demo asks for them · ``runner`` the
process in which Airflow runs them · ``telling`` all that is printed.
"""
