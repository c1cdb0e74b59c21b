"""Run real Kafka, Kafka Connect and MirrorMaker 2 from packages, for tests, the demo and benchmarks."""

from sandbox.broker import Broker
from sandbox.connect import Connect, ConnectAt
from sandbox.errors import NotInTime, RestRefusal, SandboxError
from sandbox.kafka import Kafka, Record
from sandbox.mirror_maker import MirrorMaker
from sandbox.sandbox import Sandbox
from sandbox.waiting import Progress, wait_for, wait_until
from sandbox.worker import ConnectWorker, Mode

__all__ = [
    "Broker",
    "Connect",
    "ConnectAt",
    "ConnectWorker",
    "Kafka",
    "MirrorMaker",
    "Mode",
    "NotInTime",
    "Progress",
    "Record",
    "RestRefusal",
    "Sandbox",
    "SandboxError",
    "wait_for",
    "wait_until",
]
