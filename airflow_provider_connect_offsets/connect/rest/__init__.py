"""Connect's REST API.

- ``client``: the API's methods; ``bodies``: its answers as values
- ``endpoint``: addresses and credentials; ``tokens``: OAuth
- ``calls``: sending, timeouts, retries; ``unanswered``: what it means that nobody answers
- ``refusals``: errors by answer; ``releases``: which release of Kafka has which call
"""
