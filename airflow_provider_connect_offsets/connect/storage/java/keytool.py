"""Converts Java's own formats of key stores with ``keytool``, the only program that reads them.

Passwords are passed in its environment, which other users can't read. The result is a temporary file with a random
password, in a directory that only this user can enter.
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


def convert(path: Path, kind: str, password: str | None, key_password: str | None, setting: str) -> tuple[bytes, str]:
    """Convert a key store to PKCS12.

    Args:
        path: The key store.
        kind: Its type, as keytool names it.
        password: Its password; None for none.
        key_password: Password of its keys; None if they have none of their own.
        setting: The setting that names it, for messages.

    Returns:
        The PKCS12 store and its password.

    Raises:
        InvalidInput: There is no keytool (the message has the command to run where there is one), or it refuses the
            store (a wrong password).
    """
    tool = _keytool()
    if tool is None:
        raise InvalidInput(
            f"{setting}: only Java's keytool can read {path} (type {kind}), but there is no keytool in JAVA_HOME or "
            f"on the PATH. Install Java here, or convert the store on a machine with Java and use the result: "
            f"keytool -importkeystore -srckeystore {shlex.quote(str(path))} -srcstoretype {kind} "
            f"-destkeystore {shlex.quote(str(path.with_suffix('.p12')))} -deststoretype PKCS12"
        )
    with tempfile.TemporaryDirectory(prefix="connect-offsets-") as folder:  # mode 0700
        return _Conversion(tool, path, kind, password, key_password, setting).convert_into(Path(folder) / "store.p12")


def _keytool() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return (home and shutil.which("keytool", path=f"{home}/bin")) or shutil.which("keytool")


class _Conversion:
    """The conversion of one store to PKCS12."""

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

    def convert_into(self, target: Path) -> tuple[bytes, str]:
        written = ["-destkeystore", str(target), "-deststoretype", "PKCS12", "-deststorepass:env", "TARGET"]
        for entry in self._entries():
            self._run("-importkeystore", *self._source, *written, "-noprompt", *entry)
        return target.read_bytes(), self._target

    def _entries(self) -> list[list[str]]:
        """Return the arguments of each import: one for all entries, or one for each if keys have an own password."""
        if self._passwords["KEY"] in (None, self._passwords["SOURCE"]):
            return [[]]
        entries = _ENTRY.findall(self._run("-list", "-v", *self._listed))
        own = ["-srckeypass:env", "KEY", "-destkeypass:env", "TARGET"]
        return [["-srcalias", alias, *(own if kind == "PrivateKeyEntry" else [])] for alias, kind in entries]

    def _run(self, *arguments: str) -> str:
        given = {name: value for name, value in self._passwords.items() if value is not None}
        command = [self._tool, "-J-Duser.language=en", *arguments]
        try:
            done = subprocess.run(  # noqa: S603 - the JDK's own program, and no shell
                command,
                env={**os.environ, **given},
                input="\n",  # answers the question for a missing password, without which a store can be read
                capture_output=True,
                text=True,
                timeout=_TIMEOUT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InvalidInput(f"{self._setting}: {self._tool} can't be run to convert {self._path}.") from error
        if done.returncode:
            raise InvalidInput(
                f"{self._setting}: keytool can't open {self._path} with the given passwords. "
                "Check them with keytool -list."
            )
        return done.stdout
