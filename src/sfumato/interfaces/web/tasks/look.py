"""Tasks about a release that was made: its columns, pairs of them, rows, classes, attacks, what it
is worth, and its reports.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.attack import now
from sfumato.core.classes import count_rows
from sfumato.errors import ParameterError
from sfumato.interfaces.api import why_alone
from sfumato.interfaces.web.tasks import by_the_clock
from sfumato.methods.formulas.binning import binned, table_after, table_before
from sfumato.release.attack_run import AttackOptions
from sfumato.release.documents import evaluated
from sfumato.release.evaluation import default_metrics, report_metrics
from sfumato.release.intruders import BATTERY
from sfumato.release.publish import drafted
from sfumato.release.release import Release
from sfumato.release.report.attacks import (
    attack_words,
    beyond_what,
    conclusion,
    rank_attacks,
    unknown_attacks,
)
from sfumato.release.report.measures import best_of, first_and_more, plain_words, title_of
from sfumato.release.story import FEWEST, HIDDEN, card_of, maps_of

if TYPE_CHECKING:
    from sfumato.core.pair import TablePair
    from sfumato.core.progress import Progress
    from sfumato.core.table import Table
    from sfumato.interfaces.web.data_process import Bench
    from sfumato.release.table_release import TableRelease

MOST_SETS = 20_000
"""Sets of columns that are looked through for one record."""
MOST_ROWS = 100
LONGEST = 60
SIZES = (1, 2, 3, 5, 10, 20, 50, 100, 1000)
"""Where groups of class sizes begin."""


def release_of(bench: Bench, version: int) -> TableRelease:
    """The release of a version, where it is kept."""
    release: TableRelease | None = bench.kept(f"release {version}")
    if release is None:
        raise ParameterError(
            f"the release of version {version} is not there any more; make it again"
        )
    return release


@dataclasses.dataclass(frozen=True, eq=False)
class WorkedOut:
    """What was worked out about a release to look at it, so that it is worked out once; gone when
    the release is another one.
    """

    dataset: Table
    known: dict[str, Any] = dataclasses.field(default_factory=dict)

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What is known by a name, else what is made now."""
        if name not in self.known:
            self.known[name] = make()
        return self.known[name]


def _looked(bench: Bench, version: int) -> WorkedOut:
    release = release_of(bench, version)
    looked = bench.kept(f"looked {version}")
    if looked is None or looked.dataset is not release.released:
        looked = WorkedOut(release.released)
        bench.keep(f"looked {version}", looked)
    found: WorkedOut = looked
    return found


def _pair(bench: Bench, version: int) -> TablePair:
    release = release_of(bench, version)
    pair: TablePair = _looked(bench, version).once("pair", lambda: release.pair)
    return pair


def made_versions(bench: Bench, progress: Progress) -> list[int]:
    """The versions whose releases are kept, oldest first."""
    with bench.guard:
        keys = [
            key
            for key, value in bench.made.items()
            if key.startswith("release ") and isinstance(value, Release)
        ]
    return sorted(int(key.split()[1]) for key in keys if key.split()[1].isdigit())


def look(bench: Bench, progress: Progress, *, of: int) -> dict[str, Any]:
    """What a release is, in a few lines: the headline, promises, limits, contract, columns."""
    release = release_of(bench, of)
    head, pair = release.headline, _pair(bench, of)
    shown = [c for c in pair.columns if not HIDDEN & set(pair.original.schema[c].roles)]
    return {
        "created": release.created.isoformat(),
        "headline": head.text,
        "state": head.state,
        "told": release.told_records,
        "records": release.original.records,
        "released": release.released.records,
        "drawn": release.released.drawn,
        "shown": shown,
        "changes": [
            {
                "column": c.name,
                "roles": " + ".join(c.roles),
                "action": c.action,
                "before": c.distinct_before,
                "after": c.distinct_after,
            }
            for c in release.columns
        ],
        "promises": [verdict.to_dict() for verdict in release.verdicts],
        "limits": [kept.to_dict() for kept in release.limits],
        "contract": [kept.to_dict() for kept in release.contract],
        "warnings": list(release.warnings),
    }


def look_columns(
    bench: Bench, progress: Progress, *, of: int, names: list[str]
) -> list[dict[str, Any]]:
    """Some columns before and after: bins, their shares, how much was lost and how far the
    distribution moved.
    """
    pair = _pair(bench, of)
    return [card_of(pair, binned(pair, name, fewest=FEWEST)) for name in names]


def look_pair(bench: Bench, progress: Progress, *, of: int, one: str, other: str) -> dict[str, Any]:
    """Two columns together, before and after, as shares of the records, and how much they go
    together.
    """
    pair = _pair(bench, of)
    bins = binned(pair, one, fewest=FEWEST), binned(pair, other, fewest=FEWEST)
    tables = [
        table / max(1.0, float(table.sum())) for table in (table_before(*bins), table_after(*bins))
    ]
    return {
        "names": [list(each.names) for each in bins],
        "before": tables[0].tolist(),
        "after": tables[1].tolist(),
        **{
            name: found[0] for name, found in maps_of(pair, list(bins)).items() if name != "columns"
        },
    }


# Rows, for the owner's eyes only.


def look_rows(
    bench: Bench, progress: Progress, *, of: int, first: int, count: int, which: str
) -> dict[str, Any]:
    """Some rows of the original with what was released of each; direct identifiers are left out.

    ``which`` are all rows, those that were suppressed, those with a changed cell, or those that
    stood alone. Rows that were drawn anew are nobody's: they are shown beside no original.
    """
    release, pair = release_of(bench, of), _pair(bench, of)
    count = min(count, MOST_ROWS)
    names = [c for c in release.original.columns if c not in release.original.schema.direct]
    if not pair.aligned:
        cells = _cells(
            release.released,
            np.arange(first, min(first + count, len(release.released))),
            pair.columns,
        )
        drawn = [{"row": None, "before": None, "after": after} for after in cells]
        return {
            "columns": list(pair.columns),
            "rows": drawn,
            "total": len(release.released),
            "aligned": False,
        }
    chosen = _looked(bench, of).once(f"rows {which}", lambda: _which(release, pair, which))
    some = chosen[first : first + count]
    place = _looked(bench, of).once("places", lambda: _places(pair))[some]
    before = _cells(release.original, some, names)
    there = iter(
        _cells(
            release.released, place[place >= 0], [c for c in names if c in release.released.columns]
        )
    )
    told = [
        {"row": int(row), "before": was, "after": next(there) if at >= 0 else None}
        for row, at, was in zip(some.tolist(), place.tolist(), before, strict=True)
    ]
    return {"columns": names, "rows": told, "total": len(chosen), "aligned": True}


def _places(pair: TablePair) -> Any:
    """Where each original row is in the release; −1: it is not."""
    places = np.full(len(pair.original), -1, dtype=np.int64)
    places[pair.rows] = np.arange(len(pair.rows))
    return places


def _which(release: TableRelease, pair: TablePair, which: str) -> Any:
    every = np.arange(len(pair.original))
    if which == "suppressed":
        return np.flatnonzero(_places(pair) < 0)
    if which == "alone":
        return np.flatnonzero(sizes_of(release.original) == 1)
    if which == "changed":
        changed = np.zeros(len(pair.released), dtype=bool)
        for name in pair.columns:
            changed |= ~pair.as_it_was(name)[pair.joint(name).which]
        return np.unique(pair.rows[changed])
    if which != "all":
        raise ParameterError(f"{which!r} are no rows that can be asked for")
    return every


def sizes_of(table: Table) -> Any:
    """For each row how many rows are like it in all quasi-identifiers, itself included."""
    classes, of_rows = count_rows(table)
    return classes.records[of_rows]


def _cells(table: Table, some: Any, names: Any) -> list[dict[str, str | None]]:
    labels = {}
    for name in names:
        encoded = table.encoded(name)
        labels[name] = [encoded.labels[code] for code in encoded.codes[some].tolist()]
    return [{name: _short(labels[name][i]) for name in names} for i in range(len(some))]


def _short(label: str | None) -> str | None:
    return label if label is None or len(label) <= LONGEST else label[: LONGEST - 1] + "…"


def why_risky(bench: Bench, progress: Progress, *, of: int, row: int) -> dict[str, Any]:
    """Why a record is risky: the smallest sets of columns on which it is alone in the original, and
    how many are like it before and after.
    """
    release, pair = release_of(bench, of), _pair(bench, of)
    quasi = release.original.schema.quasi
    most = next((size for size in (5, 4, 3, 2) if _sets(len(quasi), size) <= MOST_SETS), 1)
    place = _places(pair)[row] if pair.aligned and 0 <= row < len(pair.original) else -1
    alone = why_alone(release.original, row, most=most)
    before = int(_looked(bench, of).once("alike before", lambda: sizes_of(release.original))[row])
    after = (
        int(_looked(bench, of).once("alike after", lambda: sizes_of(release.released))[place])
        if place >= 0
        else None
    )
    return {
        "sets": [list(each) for each in alone],
        "most": min(most, len(quasi)),
        "before": before,
        "after": after,
    }


def _sets(columns: int, most: int) -> int:
    return sum(math.comb(columns, size) for size in range(1, most + 1))


def look_classes(bench: Bench, progress: Progress, *, of: int) -> dict[str, Any]:
    """How many records stand in classes of which size, before and after, and the risks that
    follow.
    """
    release = release_of(bench, of)
    both = {"before": release.before, "after": release.after}
    return {
        "bins": [_bin(place) for place in range(len(SIZES))],
        **{when: _grouped(found.class_sizes) for when, found in both.items()},
        "figures": {
            when: {
                "classes": f.classes,
                "smallest": f.smallest_class,
                "unique": f.unique_records,
                "records": f.records,
            }
            for when, f in both.items()
        },
        "risks": [[was.name, was.value, now.value, was.meaning] for was, now in release.risks],
    }


def _bin(place: int) -> str:
    low = SIZES[place]
    if place + 1 == len(SIZES):
        return f"{low:,}+"
    return f"{low}" if SIZES[place + 1] == low + 1 else f"{low}–{SIZES[place + 1] - 1:,}"


def _grouped(sizes: dict[int, int]) -> list[int]:
    """Records by group of class sizes."""
    places = np.searchsorted(SIZES, list(sizes), side="right") - 1
    amounts = [size * count for size, count in sizes.items()]
    return (
        np.bincount(places, weights=amounts, minlength=len(SIZES)).astype(int).tolist()
        if sizes
        else [0] * len(SIZES)
    )


# What others would try, and what it is worth.


def attack(bench: Bench, progress: Progress, *, of: int, seconds: float) -> dict[str, Any]:
    """Let the named intruders try a release within so many seconds of computing; the release is
    kept with what they found.

    Other programs that keep the machine busy make that last longer by the clock; after a while no
    other attack is begun.
    """
    begun = now()

    def told(share: float, words: str = "") -> None:
        progress(
            share,
            (
                f"{words} · {now() - begun:.0f} of {seconds:.0f} seconds of computing"
                if words
                else words
            ),
        )

    attacked = release_of(bench, of).attacked(
        seconds=seconds, options=AttackOptions(clock=by_the_clock(seconds), progress=told)
    )
    bench.keep(f"release {of}", attacked)
    return look_attacks(bench, progress, of=of)


def look_attacks(bench: Bench, progress: Progress, *, of: int) -> dict[str, Any]:
    """Who tries a release, and what came of it: what was not tried is unknown, and says so."""
    found = release_of(bench, of).attacks
    who = [
        {"name": one.name, "story": one.story, "tries": [_words(n) for n in one.attacks]}
        for one in BATTERY
    ]
    if found is None:
        return {"who": who, "tried": None}
    plain = found.to_dict()
    tried = [
        {
            "intruder": one["intruder"],
            "attack": attack_words(one),
            "words": plain_words(one["attack"], parameters=one.get("parameters")),
            "value": one["value"],
            "interval": one["interval"],
            "guess": one["baseline"],
            "exceeds": one["exceeds"],
            "verdict": beyond_what(one) if one["exceeds"] else _within(one),
            "sentence": one["sentence"],
        }
        for one in rank_attacks(plain)
    ]
    blind = [
        {"intruder": one["intruder"], "attack": attack_words(one), "reason": one["reason"]}
        for one in unknown_attacks(plain)
    ]
    rest = [
        f"{one['intruder']}, {attack_words(one)}: {one['reason']}"
        for one in plain["skipped"]
        if one["status"] != "unknown"
    ]
    told = {
        "conclusion": conclusion(plain),
        "looked_for": plain["looked_for"],
        "seconds": plain["seconds"],
    }
    return {"who": who, "tried": tried, "unknown": blind, "not_applicable": rest, **told}


def _within(tried: Mapping[str, Any]) -> str:
    """What an attack stays within; *allowed* is said of limits only."""
    words = beyond_what(tried)
    return (
        "within the recipe's limit"
        if tried["limit"] is not None
        else f"not {words[0].lower()}{words[1:]}"
    )


def _words(name: str) -> str:
    return name.replace("_", " ")


def worth(bench: Bench, progress: Progress, *, of: int, thorough: bool) -> dict[str, Any]:
    """What a release is still worth, with what would be best; ``thorough`` measures every metric,
    which takes a while.
    """
    progress(0.0, "measuring")
    release, pair = release_of(bench, of), _pair(bench, of)
    metrics = default_metrics() if thorough else report_metrics(pair)
    for place, metric in enumerate(metrics):  # one by one, so that it can be stopped
        progress(place / len(metrics), _words(metric.name))
        evaluated(release, pair, [metric])
    found = evaluated(release, pair, metrics)
    first, more = first_and_more((m.name, m) for m in found.measures)
    told = [(m, True) for m in first] + [(m, False) for m in more]
    return {
        "measures": [
            {
                "name": title_of(m.name),
                "value": m.value,
                "best": best_of(m.name),
                "meaning": m.meaning,
                "first": early,
                "columns": dict(m.per_column),
            }
            for m, early in told
        ],
        "skipped": [[_words(name), reason] for name, reason in found.skipped.items()],
        "thorough": thorough,
    }


def draft_reports(bench: Bench, progress: Progress, *, of: int, folder: str) -> list[str]:
    """The two reports as they would be written, to share and to keep; ``folder`` is where a draft
    may lie for a moment.
    """
    progress(0.0, "writing a draft, reading it back, judging it")
    release = release_of(bench, of)
    looked = _looked(bench, of)
    about, pages = looked.known.get("report", (None, ()))
    if about is not release.attacks or not pages:
        pages = drafted(release, within=Path(folder))
        looked.known["report"] = (release.attacks, pages)
    return list(pages)
