"""The change of one connector: stop, read again, alter, read back, resume; or all of it is undone.

- ``plans``: plans, read and checked before they are applied; ``outcomes``: how a change ended; ``event_summary``: what
  its asset event says
- ``apply``: a change as a whole; ``stepwise``: in single steps; ``direct``: without a plan
- ``stopped``: connectors that stay stopped between tasks of a run
- ``turns``: which run rewinds a connector to the start of its data interval
- ``replay``: an interval of time that a clone of a connector delivers once more
"""
