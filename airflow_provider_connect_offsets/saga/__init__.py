"""Sagas: operations as lists of stages that one executor carries out, undoes, and settles after a process has died.

Nothing in here knows Kafka or Airflow: an operation's stages (``operations``) do the work.

- ``stage``: the stage protocol
- ``executor``: makes and undoes stages; the only code that decides between forward and back
- ``journal``: the durable records of all sagas of a resource, and who may write them; ``lease``, ``entry``, ``record``
  and ``stored`` are its parts, ``overlaps`` its refusals
- ``explanation``: the errors that an operation raises for what the executor did
- ``many``: several sagas at a time
"""
