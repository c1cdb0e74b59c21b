"""Import the installed pyspark instead of the zip that ``spark-submit`` puts before it on Python's path.

Python compiles modules from a zip at every start, which takes half a second for pyspark. It caches compiled modules of
an installation. Standard library only, as this module runs before pyspark is imported.
"""

from __future__ import annotations

import sys
from pathlib import Path

# A copy, because a list looks empty to the key function while it is being sorted.
_ON_PATH = frozenset(sys.path)


def is_copy(path: str) -> bool:
    """Whether ``path`` is a zip of the pyspark or py4j that is installed on Python's path.

    That is the case for the ``spark-submit`` of ``pip install pyspark``; zip and package then have the same version.
    Zips of another Spark installation are not copies. ``sys.path.sort(key=is_copy)`` moves copies to the end and keeps
    the order of all others.
    """
    zipped, name = Path(path), Path(path).name.split("-", maxsplit=1)[0].removesuffix(".zip")
    if zipped.suffix != ".zip" or name not in {"pyspark", "py4j"}:
        return False
    # Path of the zip in an installation by pip: <site-packages>/pyspark/python/lib/pyspark.zip
    by_pip = zipped.parts[-4:-1] == ("pyspark", "python", "lib")
    site = Path(*zipped.parts[:-4])
    return by_pip and str(site) in _ON_PATH and (site / name / "__init__.py").is_file()
