"""Connect's REST API.

- ``client``: the API's methods; ``bodies``: its answers as values
- ``endpoint``: addresses and credentials; ``tokens``: OAuth
- ``calls``: sending, timeouts, retries
- ``refusals``: errors by answer; ``releases``: which release of Kafka has which call
"""
