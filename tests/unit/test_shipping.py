"""What ``spark-submit`` ships is complete: a driver on a cluster has nothing else of ours."""

from __future__ import annotations

import ast
from pathlib import Path

from airflow_provider_connect_offsets.pipeline.shipping import PACKAGE, shipped_modules


def _imported(module: Path) -> set[Path]:
    """The modules of ours that a module imports, at its top or later."""
    nodes = [node for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.ImportFrom)]
    places = [
        PACKAGE.parent.joinpath(*(node.module or "").split("."))
        for node in nodes
        if (node.module or "").split(".")[0] == PACKAGE.name
    ]
    return {place.with_suffix(".py") if not place.is_dir() else place / "__init__.py" for place in places}


def test_all_that_shipped_modules_import_is_shipped() -> None:
    """A module that was not was found by a job on a cluster only."""
    shipped = set(shipped_modules())

    missing = {
        f"{module.relative_to(PACKAGE)} imports {one.relative_to(PACKAGE)}"
        for module in shipped
        for one in _imported(module) - shipped
    }
    assert missing == set()
