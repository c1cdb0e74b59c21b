"""What an offset is: values and rules. No I/O, no Airflow, no Spark, no Kafka client, standard library only.

``document`` the REST and KIP-199 documents · ``families`` what offsets mean per connector class (``mirror`` has
MirrorMaker 2's, ``family`` what all share) · ``request`` what was asked for · ``plan`` before → after · ``verdicts``
the rules by name.
"""
