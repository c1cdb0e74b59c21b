"""``connect-offsets``, the tool that KIP-199 proposes: exports and imports source offsets in the workers' storage.

- ``main``: the command and its subcommands; ``options``: the options that several have
- ``exporting``, ``importing``, ``comparing``, ``copying``, ``orphaned``: what each subcommand does
- ``recover``, ``recovering``: what dead operations have left, shown and settled
- ``live``: connectors that run, shown and brought into states
- ``opened``: the storage of a worker's properties; ``journals``: this user's journals; ``messages``: standard error

Nothing is imported here: ``--help`` must not wait for confluent-kafka.
"""
