#!/usr/bin/env bash
# Makes an empty virtual environment of one Python version: bash venv.sh 3.13 .venv-3.13
# Where that Python is missing, says which command installs it; exit code 1.
set -euo pipefail
version=$1
directory=$2
uv=${UV:-.venv/bin/uv}

# A pyenv shim fails unless its version is the selected one, so pyenv's Pythons are looked up themselves.
for bin in "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/"$version"*/bin; do
  PATH=$bin:$PATH
done
if ! "$uv" python find --quiet --system --no-python-downloads "$version" >/dev/null 2>&1; then
  printf 'Missing: Python %s\n  Any system: %s python install %s\n  macOS:      brew install python@%s\n' \
    "$version" "$uv" "$version" "$version" >&2
  exit 1
fi
"$uv" venv --quiet --clear --no-python-downloads --python "$version" "$directory"
