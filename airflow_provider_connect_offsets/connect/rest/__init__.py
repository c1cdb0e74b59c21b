"""Connect's REST API.

``client`` what it can do · ``endpoint`` where the workers are and who asks, ``tokens`` how to log in · ``calls`` how a
call travels · ``refusals`` what a refusal means, ``releases`` which worker knows which call.
"""
