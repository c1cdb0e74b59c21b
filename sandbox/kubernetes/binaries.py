"""etcd and kube-apiserver, built once per user from their Go modules, and shared by all sandboxes.

No package registry has the programs, but both are Go modules, which the Go command fetches and builds.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sandbox.errors import SandboxError
from sandbox.jars import lock, user_cache

ETCD_VERSION = "v3.6.13"
KUBERNETES_VERSION = "v1.34.2"
# The version at which the modules are published that Kubernetes' own go.mod takes from its source tree.
_STAGING_VERSION = KUBERNETES_VERSION.replace("v1.", "v0.")
_IN_SOURCE_TREE = "v0.0.0"

_KUBERNETES = "k8s.io/kubernetes"
_ETCD = "go.etcd.io/etcd"
_ETCD_MODULES = ("api/v3", "client/pkg/v3", "client/v3", "pkg/v3", "server/v3")
_ETCD_MAIN = """\
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
"""
_OUTPUT_LINES = 30


def missing_programs() -> str | None:
    """Why the programs can neither be found nor built here, as a sentence; None if they can."""
    if shutil.which("go") or all(path.exists() for path in (_etcd_path(), _api_server_path())):
        return None
    return "Go is not installed, which builds Kubernetes' API server: apt-get install golang-go"


def etcd() -> Path:
    """The program ``etcd``; a missing one is built, which takes a minute on two cores."""
    return _ready(_etcd_path(), _write_etcd)


def kube_apiserver() -> Path:
    """The program ``kube-apiserver``; a missing one is built, which takes some five minutes on two cores."""
    return _ready(_api_server_path(), _write_api_server)


def _etcd_path() -> Path:
    return user_cache() / f"etcd-{ETCD_VERSION}"


def _api_server_path() -> Path:
    return user_cache() / f"kube-apiserver-{KUBERNETES_VERSION}"


def _ready(program: Path, write_module: Callable[[Path], str]) -> Path:
    """Build a program if it is not there. If several processes need it at once, one builds it and the others wait."""
    if program.exists():
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    with lock(program.with_name(f"{program.name}.lock")):
        if not program.exists():
            # In the folder of its destination, so that the rename is on one file system and atomic.
            with tempfile.TemporaryDirectory(prefix=f".{program.name}-", dir=program.parent) as scratch:
                package = write_module(Path(scratch))
                _go(["build", "-mod=mod", "-o", "built", package], Path(scratch))
                Path(scratch, "built").rename(program)
    return program


def _write_etcd(folder: Path) -> str:
    modules = [f"{_ETCD}/{name} {ETCD_VERSION}" for name in _ETCD_MODULES]
    _write_go_mod(folder, [f"require {module}" for module in modules])
    (folder / "main.go").write_text(_ETCD_MAIN)
    return "."


def _write_api_server(folder: Path) -> str:
    """Require Kubernetes, and replace the modules of its source tree by the published ones."""
    _write_go_mod(folder, [])
    published: dict[str, Any] = json.loads(
        _go(["mod", "download", "-json", f"{_KUBERNETES}@{KUBERNETES_VERSION}"], folder)
    )
    listed: dict[str, Any] = json.loads(_go(["mod", "edit", "-json", published["GoMod"]], folder))
    staged = sorted(required["Path"] for required in listed["Require"] if required["Version"] == _IN_SOURCE_TREE)
    lines = [f"require {_KUBERNETES} {KUBERNETES_VERSION}"]
    lines += [f"require {module} {_STAGING_VERSION}" for module in staged]
    lines += [f"replace {module} => {module} {_STAGING_VERSION}" for module in staged]
    _write_go_mod(folder, lines)
    return f"{_KUBERNETES}/cmd/kube-apiserver"


def _write_go_mod(folder: Path, lines: Sequence[str]) -> None:
    (folder / "go.mod").write_text("\n".join(("module sandbox", *lines, "")))


def _go(arguments: Sequence[str], folder: Path) -> str:
    """Run the Go command and return its output."""
    go = shutil.which("go")
    if go is None:
        raise SandboxError(missing_programs() or "Go is not installed.")
    environment = {**os.environ, "GOFLAGS": "-buildvcs=false", "GOWORK": "off", "CGO_ENABLED": "0"}
    ended = subprocess.run([go, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise SandboxError(
            f"go {' '.join(arguments)} failed. The end of its output:\n"
            + "\n".join(ended.stderr.splitlines()[-_OUTPUT_LINES:])
        )
    return ended.stdout
