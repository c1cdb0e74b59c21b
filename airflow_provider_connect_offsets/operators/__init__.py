"""Airflow operators: thin, as the other rooms do the work. Those for DAGs of your own can be imported from here.

A module is imported once one of its operators is, because some need seconds for it. Editors and type checkers read
``__init__.pyi``.
"""

from importlib import import_module
from typing import Any

_MODULES = {
    "connector": (
        "AlterConnectorOffsetsOperator",
        "GetConnectorConfigOperator",
        "GetConnectorOffsetsOperator",
        "GetConnectorStatusOperator",
        "PauseConnectorOperator",
        "ResetConnectorOffsetsOperator",
        "RestartConnectorOperator",
        "ResumeConnectorOperator",
        "StopConnectorOperator",
    ),
    "existence": (
        "ApproveCopyOperator",
        "CheckCopyOperator",
        "CopyConnectorOperator",
        "CreateConnectorOperator",
        "DeleteConnectorOperator",
        "ReleaseCopyOperator",
        "RenameConnectorOperator",
        "UpdateConnectorConfigOperator",
    ),
    "poison": ("FindPoisonRecordOperator", "ReleasePoisonedSinkOperator", "SkipPoisonRecordOperator"),
    "snapshot": ("SnapshotConnectorOffsetsOperator",),
    "plan": ("PlanConnectorOffsetsOperator",),
    "apply": ("ApplyOffsetPlanOperator", "ApproveOffsetPlanOperator", "BeginOffsetChangeOperator"),
    "restore": ("RestoreConnectorOffsetsOperator",),
    "mirror_syncs": ("ClearOffsetSyncsOperator",),
    "failover": ("TranslateGroupOffsetsOperator",),
    "groups": (
        "CommitGroupOffsetsOperator",
        "DeleteConsumerGroupOperator",
        "DescribeConsumerGroupOperator",
        "ListConsumerGroupsOperator",
        "RestoreGroupOffsetsOperator",
    ),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}
__all__ = list(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
