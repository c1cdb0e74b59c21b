"""Accuracy of translated offsets: the share of exact ones, and the re-reads of the others, by event.

Uses generated histories of the tests, of which all is known. Beside the shares are those of someone who knows the truth
(``can be``), of someone who proves all that the records of both logs show (``provable``), and of MirrorMaker 2's own
translation by its offset syncs (``MM2``). The columns of each way to read: the share of exact offsets, the same among
those that are provable, and the median of the re-reads of the others. Also prints how often each event happened. Exit
code 1 if a translated offset is wrong by more than what answers presume (docs/translation.md), or if less than 97 % of
what is provable is exact::

    python benchmarks/exactness.py --histories 2000
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from tests.support.model.mirror_answered import answered
from tests.support.model.mirror_events import history
from tests.support.model.mirror_kinds import Event, Trait
from tests.support.model.mirror_presumed import excused
from tests.support.model.mirror_rows import Answer, ReadFrom
from tests.support.model.mirror_world import Ending, World

HISTORIES, SEED, LEAST = 1_000, 1, 0.97
_PLANNED = [Ending.DRAINED]
ENDINGS = {
    "records of both logs": (ReadFrom.ALL, _PLANNED),
    "some, and single ones": (ReadFrom.SOME, _PLANNED),
    "single ones": (ReadFrom.NONE, _PLANNED),
    "source lost": (ReadFrom.NONE, [Ending.BROKEN]),
}


def made_up(count: int, seed: int, endings: Sequence[Ending]) -> list[World]:
    """``count`` histories, generated from ``seed``."""
    random = Random(seed)
    return [history(random, ending=random.choice(endings)) for _ in range(count)]


def cell(answers: Sequence[Answer]) -> str:
    """The share of exact answers, that of exact ones among the provable, and the median of re-reads of the others."""
    bounds = [answer.max_rereads for answer in answers if not answer.exact and answer.max_rereads is not None]
    median = f"{statistics.median(bounds):.0f}" if bounds else "-"
    return f"{shown(share_of(answers)):>8} {shown(share_of(provable_of(answers))):>8} {median:>4}"


def provable_of(answers: Iterable[Answer]) -> list[Answer]:
    """Those that the records of both logs prove."""
    return [answer for answer in answers if answer.can_be_proved]


def share_of(answers: Sequence[Answer]) -> float | None:
    """The share of exact answers; None if there are none."""
    return sum(answer.exact for answer in answers) / len(answers) if answers else None


def shown(share: float | None) -> str:
    """A share in percent."""
    return "-" if share is None else f"{share:.1%}"


def peers(answers: Sequence[Answer]) -> str:
    """The shares of whoever knows the truth, of whoever proves all that records show, and of MirrorMaker 2."""
    facts = [(answer.can_be_exact, answer.can_be_proved, answer.is_exact_by_mm2) for answer in answers]
    return "".join(f"{shown(sum(column) / len(facts)):>9}" for column in zip(*facts, strict=True))


def report(columns: Sequence[Sequence[Answer]], worlds: Sequence[World]) -> Iterable[str]:
    """Lines of the table. ``worlds``: those of the first column."""
    yield f"{'':>18} {'happens':>8} {'can be':>8} {'provable':>8} {'MM2':>8}" + "".join(
        f"{name:>26}" for name in ENDINGS
    )
    yield f"{'all':>18} {'':>8}" + peers(columns[0]) + "".join(f"{cell(answers):>26}" for answers in columns)
    for kind in [*Event, *Trait]:
        if not (share := sum(kind in world.happened for world in worlds) / len(worlds)):
            continue
        of_kind = [[answer for answer in answers if kind in answer.world.happened] for answers in columns]
        yield f"{kind:>18} {share:8.1%}" + peers(of_kind[0]) + "".join(f"{cell(answers):>26}" for answers in of_kind)


def main() -> int:
    """Print the table and the wrong answers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--histories", type=int, default=HISTORIES)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.memory", "2g").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    columns: list[list[Answer]] = []
    first: list[World] = []
    for read, endings in ENDINGS.values():
        worlds = made_up(options.histories, options.seed, endings)
        first = first or worlds
        columns.append(answered(spark, worlds, read, bisected=Ending.BROKEN not in endings))
    print("\n".join(report(columns, first)))
    shares = [share_of(provable_of(answers)) for answers in columns]
    wrong = [
        str(answer)
        for answers, (read, _endings) in zip(columns, ENDINGS.values(), strict=True)
        for answer in answers
        if answer.wrong and not excused(answer, read)
    ]
    print("\n".join(f"WRONG: {answer}" for answer in wrong[:10]), file=sys.stderr)
    return 1 if wrong or any(share is not None and share < LEAST for share in shares) else 0


if __name__ == "__main__":
    sys.exit(main())
