"""A real Kubernetes API server with the custom resources of Strimzi, without containers and without controllers."""

from sandbox.kubernetes.api_server import ADMIN, ApiServer
from sandbox.kubernetes.binaries import missing_programs
from sandbox.kubernetes.cluster import Cluster, Manifest
from sandbox.kubernetes.crds import GROUP, PLURALS, Release, crds, missing_java

__all__ = ["ADMIN", "GROUP", "PLURALS", "ApiServer", "Cluster", "Manifest", "Release", "crds", "why_missing"]


def why_missing() -> str | None:
    """Why there can be no API server here, as a sentence; None if there can."""
    return missing_programs() or missing_java()
