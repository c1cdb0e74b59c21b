"""pyspark as it was installed, instead of the zip that ``spark-submit`` puts before it on Python's path.

Python compiles what it imports from such a zip anew at every start, which takes pyspark half a second; of installed
modules it keeps what it has compiled. Standard library only, as this comes before pyspark.
"""

from __future__ import annotations

import sys
from pathlib import Path

# A list that is being sorted looks empty to the key.
_ON_PATH = frozenset(sys.path)


def is_copy(path: str) -> bool:
    """Whether this is a zip of pyspark or py4j, and the package that it was made of is on Python's path as well.

    That is so where ``spark-submit`` came with ``pip install pyspark``: both are of one version then. The zips of
    another Spark are no copies. ``sys.path.sort(key=is_copy)`` puts copies last, and leaves all else in order.
    """
    zipped, name = Path(path), Path(path).name.split("-", maxsplit=1)[0].removesuffix(".zip")
    if zipped.suffix != ".zip" or name not in {"pyspark", "py4j"}:
        return False
    # As pip installs it: <site-packages>/pyspark/python/lib/pyspark.zip
    by_pip = zipped.parts[-4:-1] == ("pyspark", "python", "lib")
    site = Path(*zipped.parts[:-4])
    return by_pip and str(site) in _ON_PATH and (site / name / "__init__.py").is_file()
