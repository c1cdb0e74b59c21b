"""Commands on connectors that run: what they do, how far they have read, and their states.

- ``commands``: the subcommands; ``answers``: what they ask for; ``tables``: how answers are written

Nothing is imported here: ``--help`` must not wait for confluent-kafka.
"""
