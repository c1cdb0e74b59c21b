#!/usr/bin/env bash
# Says what is missing, and which command brings it; exit code 1 if anything is.
set -u
python=${PYTHON:-python3}
missing=0

lacks() {
  printf 'Missing: %s\n  Debian, Ubuntu: %s\n  macOS:          %s\n' "$1" "$2" "$3" >&2
  missing=1
}

if ! command -v "$python" >/dev/null 2>&1 ||
   ! "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then
  lacks "Python 3.11, 3.12 or 3.13 (as '$python'; another one: make PYTHON=python3.12 …)" \
    "sudo apt-get install python3 python3-venv" "brew install python@3.12"
elif ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
  lacks "Python's venv module" "sudo apt-get install python3-venv" "brew install python@3.12"
fi

java=${JAVA_HOME:+$JAVA_HOME/bin/}java
version=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1)
case "$version" in
  17 | 21) ;;
  "") lacks "a JDK 17 or 21 (no '$java')" "sudo apt-get install openjdk-17-jdk-headless" "brew install openjdk@17" ;;
  *) lacks "a JDK 17 or 21 ('$java' is version $version; set JAVA_HOME)" \
       "sudo apt-get install openjdk-17-jdk-headless" "brew install openjdk@17" ;;
esac
exit $missing
