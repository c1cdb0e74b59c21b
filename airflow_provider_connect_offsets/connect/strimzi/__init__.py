"""Connectors that Strimzi's operator owns (and Cloudera's CSM, which ships it), by their custom resources.

- ``client``: both protocols on the resources; ``control``: the protocol for states
- ``with_rest``: states by the resource, offsets by REST
- ``kubernetes_api``: calls of the API server; ``watching``: waits for a resource
- ``clusters``, ``resources``, ``places``: what the resources say of a connector; ``patches``: how they are changed
- ``operation``: one offset operation by annotation; ``config_maps``: its document; ``refusals``: what a condition means
- ``preconditions``: why the operator would do nothing; ``leftovers``: what is removed at the end
"""
