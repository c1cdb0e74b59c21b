"""What an offset is: values and rules. No I/O, no Airflow, no Spark, no Kafka client; standard library only.

``document`` REST and KIP-199 documents · ``families`` what offsets mean per connector class (``mirror``:
MirrorMaker 2's; ``family``: what all share) · ``requests`` requested changes · ``plan`` offsets before and after ·
``verdicts`` rules by name · ``flow`` topics of a MirrorMaker 2 flow, ``advice`` on its settings, ``sync_record`` one
offset sync, ``mappings`` searches for offset mappings · ``storage`` raw keys and values of Connect's stores ·
``kept_config`` connector settings without secrets · ``json_codec`` dataclasses as JSON.
"""
