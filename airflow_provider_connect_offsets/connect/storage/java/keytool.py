"""Java's ``keytool``, which alone reads the key stores of Java's own making.

Passwords go to it by its environment, which other users of the machine can't see; its work is a file in a directory
that only this user can enter, under a password of its own, and is gone afterwards.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from airflow_provider_connect_offsets.exceptions import InvalidInput

_TIMEOUT = 60.0
_ENTRY = re.compile(r"^Alias name: ([^\r\n]*)$.*?^Entry type: (\w+)", re.MULTILINE | re.DOTALL)


def converted(path: Path, kind: str, password: str | None, key_password: str | None, setting: str) -> tuple[bytes, str]:
    """Convert a store of ``kind`` to PKCS12, and give that with its password.

    Raises :class:`InvalidInput` where there is no keytool (with the command that converts the store where there is
    one), or where it refuses (a wrong password).
    """
    tool = _keytool()
    if tool is None:
        raise InvalidInput(
            f"{setting}: {path} is a store of type {kind}, which only Java reads, and there is no keytool in "
            f"JAVA_HOME or on the path. Install a Java, or convert the store where there is one and name the result: "
            f"keytool -importkeystore -srckeystore {shlex.quote(str(path))} -srcstoretype {kind} "
            f"-destkeystore {shlex.quote(str(path.with_suffix('.p12')))} -deststoretype PKCS12"
        )
    with tempfile.TemporaryDirectory(prefix="connect-offsets-") as folder:  # mode 0700
        return _Conversion(tool, path, kind, password, key_password, setting).into(Path(folder) / "store.p12")


def _keytool() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return (home and shutil.which("keytool", path=f"{home}/bin")) or shutil.which("keytool")


class _Conversion:
    """One store on its way to PKCS12."""

    def __init__(
        self, tool: str, path: Path, kind: str, password: str | None, key_password: str | None, setting: str
    ) -> None:
        self._tool = tool
        self._path = path
        self._setting = setting
        self._target = secrets.token_urlsafe(24)
        self._passwords = {"SOURCE": password, "KEY": key_password, "TARGET": self._target}
        self._source = ["-srckeystore", str(path), "-srcstoretype", kind]
        self._listed = ["-keystore", str(path), "-storetype", kind]
        if password is not None:
            self._source += ["-srcstorepass:env", "SOURCE"]
            self._listed += ["-storepass:env", "SOURCE"]

    def into(self, target: Path) -> tuple[bytes, str]:
        written = ["-destkeystore", str(target), "-deststoretype", "PKCS12", "-deststorepass:env", "TARGET"]
        for entry in self._entries():
            self._run("-importkeystore", *self._source, *written, "-noprompt", *entry)
        return target.read_bytes(), self._target

    def _entries(self) -> list[list[str]]:
        """What names the entries to be imported: all at once, or each where keys have a password of their own."""
        if self._passwords["KEY"] in (None, self._passwords["SOURCE"]):
            return [[]]
        found = _ENTRY.findall(self._run("-list", "-v", *self._listed))
        own = ["-srckeypass:env", "KEY", "-destkeypass:env", "TARGET"]
        return [["-srcalias", alias, *(own if kind == "PrivateKeyEntry" else [])] for alias, kind in found]

    def _run(self, *arguments: str) -> str:
        given = {name: value for name, value in self._passwords.items() if value is not None}
        command = [self._tool, "-J-Duser.language=en", *arguments]
        try:
            done = subprocess.run(  # noqa: S603 - the JDK's own program, and no shell
                command,
                env={**os.environ, **given},
                input="\n",  # to the question for a password where none is given: a store can be read without
                capture_output=True,
                text=True,
                timeout=_TIMEOUT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InvalidInput(f"{self._setting}: {self._tool} can't be run to convert {self._path}.") from error
        if done.returncode:
            raise InvalidInput(
                f"{self._setting}: keytool can't open {self._path} with the passwords given for it. "
                "Try it with keytool -list."
            )
        return done.stdout
