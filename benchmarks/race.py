"""Races: what we do, beside what others do on the same table, with an aim, and with a check of the
result.

    make bench                                        every race of the default set, one table
    make bench BENCH=search                           the races of one script
    make bench ARGS='--peers venv/bin/python'         peers (pycanon, anonypy, recordlinkage,
    splink) in an environment of their own make bench ARGS='--rows 1e7'
    generated tables up to ten million rows python benchmarks/race.py --table                 write
    the table of benchmarks/README.md from the last whole run

A figure is CPU seconds of the work itself, all threads together, the best of several, compiled
loops warm, unless its unit says otherwise. The peer runs in the same run where it is installed;
otherwise its stored figure *for the same table* is shown with a star and without a ratio. A race
whose result is wrong is lost however fast it was: the exit code is 1. What was measured is written
to build/bench as JSON, with the machine, the versions and the load.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import functools
import importlib
import importlib.metadata
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

SCRIPTS = (
    "whole",
    "search",
    "judge",
    "local",
    "suppression",
    "risk",
    "linkage",
    "utility",
    "microaggregation",
)
"""The default set. Other scripts run by name: masking, synthesis, private_synthesis, and roles and
queries, which are no races.
"""
HOME = Path(__file__).resolve().parents[1]
RESULTS = HOME / "build" / "bench"
PAGE = HOME / "benchmarks" / "README.md"
BEGIN, END = "<!-- races -->", "<!-- end of races -->"
BUSY = 1.5
PACKAGES = ("sfumato", "numpy", "polars", "numba", "pyarrow")

Result = TypeVar("Result")


class Skip(Exception):
    """A race or a peer cannot run here; the message says why."""


@dataclasses.dataclass(frozen=True)
class Options:
    """What the caller asked for: rows of the largest generated table, the Python that has the
    peers, slow ones too.
    """

    rows: int = 1_000_000
    peers: str = sys.executable
    slow: bool = False


@dataclasses.dataclass(frozen=True)
class Ours:
    """What we did: the figure, whether the result is right and what was seen of it; a limit that
    follows from the table.
    """

    figure: float
    holds: bool
    seen: str
    wall: float | None = None
    peak: float | None = None
    aim: float | None = None
    result: Any = None


@dataclasses.dataclass(frozen=True)
class Theirs:
    """What a peer did; ``source`` says where a stored figure was measured, and is empty for one
    measured now.
    """

    name: str
    figure: float
    source: str = ""
    result: Any = None


@dataclasses.dataclass(frozen=True)
class Race:
    """One line of the table.

    ``check`` says in words what makes our result right. ``agrees`` compares it with that of a peer
    that ran beside us. ``aim`` is the most that our figure may be; ``times`` the same as a multiple
    of the peer's. A slow peer runs with --slow only.
    """

    task: str
    check: str
    ours: Callable[[Options], Ours]
    peer: Callable[[Options], Theirs] | None = None
    stored: Theirs | None = None
    agrees: Callable[[Ours, Theirs], bool] | None = None
    unit: str = "s"
    aim: float | None = None
    times: float | None = None
    slow: bool = False
    slow_peer: bool = False


@dataclasses.dataclass(frozen=True)
class Line:
    """What came out of a race, as the JSON file has it."""

    task: str
    check: str
    unit: str
    result: str
    """``met``, ``missed``, ``done`` (no aim), ``wrong``, ``skipped`` or ``failed``"""
    ours: float | None = None
    wall: float | None = None
    peak: float | None = None
    seen: str = ""
    peer: str = ""
    theirs: float | None = None
    mark: str = "none"
    """``same run``, ``stored``, ``absent`` or ``none``"""
    source: str = ""
    ratio: float | None = None
    aim: float | None = None
    note: str = ""


# ---------------------------------------------------------------------------------------- measuring


def best_of(
    times: int, work: Callable[[Any], Result], fresh: Callable[[], Any] = lambda: None
) -> tuple[float, float, Result]:
    """CPU and wall seconds of some work on what ``fresh`` makes, each the best of several, and its
    last result.
    """
    cpu = wall = math.inf
    for _ in range(times):
        given, began, started = fresh(), time.perf_counter(), time.process_time()
        result = work(given)
        cpu, wall = min(cpu, time.process_time() - started), min(wall, time.perf_counter() - began)
    return cpu, wall, result


@dataclasses.dataclass(frozen=True)
class Spent:
    """What a process took: seconds and megabytes."""

    cpu: float
    wall: float
    peak: float


# An installed package has compiled modules; without them every process compiles all of them again,
# which took .21 of the .95 CPU seconds of a cold run.
BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}


def process(command: Sequence[str | Path], **environment: str) -> Spent:
    """Run a process to its end; where it fails, its last words are told."""
    with tempfile.TemporaryFile() as words:
        started = time.perf_counter()
        child = subprocess.Popen(
            [str(part) for part in command],
            stdout=words,
            stderr=words,
            env={**os.environ, **BYTECODE, **environment},
        )
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        if status:
            words.seek(0)
            raise RuntimeError(words.read().decode(errors="replace")[-400:])
    unit = 1 if sys.platform == "darwin" else 1024
    return Spent(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * unit / 1e6)


def ask_peer(options: Options, package: str, **job: Any) -> Any:
    """What a function of peers.py gives in the Python that has the package; ``Skip`` where it has
    not.
    """
    with tempfile.TemporaryDirectory() as folder:
        asked, told = Path(folder) / "job.json", Path(folder) / "told.json"
        asked.write_text(json.dumps(job), encoding="utf-8")
        if subprocess.run(
            [options.peers, "-c", f"import {package}"], capture_output=True, check=False
        ).returncode:
            raise Skip(f"{package} is not installed")
        process([options.peers, Path(__file__).with_name("peers.py"), package, asked, told])
        return json.loads(told.read_text(encoding="utf-8"))


def at(rows: int, work: Callable[[int], Ours]) -> Callable[[Options], Ours]:
    """Some work at so many rows, where so many were asked for."""

    def measured(options: Options) -> Ours:
        if rows > options.rows:
            raise Skip(f"asked for with --rows 1e{round(math.log10(rows))}")
        return work(rows)

    return measured


def growth(work: Callable[[int], Ours], most: int = 10**7) -> Callable[[Options], Ours]:
    """The exponent with which the time of some work grows with the rows, from 10⁵ to as many as
    asked for; 1 is linear.
    """

    def measured(options: Options) -> Ours:
        rows = [rows for rows in (10**5, 10**6, 10**7) if rows <= min(options.rows, most)]
        if len(rows) < 2:
            raise Skip("two sizes are needed: --rows 1e6 or more")
        found = [work(size) for size in rows]
        exponent = math.log(found[-1].figure / found[0].figure) / math.log(rows[-1] / rows[0])
        seen = ", ".join(
            f"{size:.0e}: {one.figure:.3g}" for size, one in zip(rows, found, strict=True)
        )
        return Ours(exponent, all(one.holds for one in found), seen)

    return measured


# ------------------------------------------------------------------------------------------ running


def run(race: Race, options: Options) -> Line:
    """Hold one race."""
    line = Line(race.task, race.check, race.unit, "skipped", aim=race.aim)
    try:
        ours = race.ours(options)
    except Skip as reason:
        return dataclasses.replace(line, note=str(reason))
    except Exception as error:  # noqa: BLE001 - one lost race does not end the others
        return dataclasses.replace(
            line, result="failed", note=f"{type(error).__name__}: {error}"[:300]
        )
    theirs, note = beside(race, options)
    return judged(race, line, ours, theirs, note)


def beside(race: Race, options: Options) -> tuple[Theirs | None, str]:
    """The peer in the same run, or its stored figure, and why it is the latter or none."""
    if race.peer is None:
        return race.stored, ""
    if race.slow_peer and not options.slow:
        return race.stored, "the peer takes long: --slow"
    try:
        return race.peer(options), ""
    except Skip as reason:
        return race.stored, str(reason)
    except Exception as error:  # noqa: BLE001
        return race.stored, f"the peer failed: {error}"[:300]


def judged(race: Race, line: Line, ours: Ours, theirs: Theirs | None, note: str) -> Line:
    """Who won, and whether the result is right."""
    aim = ours.aim if ours.aim is not None else race.aim
    if race.times and theirs:
        aim = race.times * theirs.figure
    live = theirs is not None and not theirs.source
    right = ours.holds and (race.agrees is None or not live or race.agrees(ours, theirs))  # type: ignore[arg-type]
    reached = "done" if aim is None else "met" if ours.figure <= aim else "missed"
    line = dataclasses.replace(
        line,
        result=reached if right else "wrong",
        ours=ours.figure,
        wall=ours.wall,
        peak=ours.peak,
        seen=ours.seen,
        aim=aim,
        note=note,
    )
    if theirs is None:
        return dataclasses.replace(line, mark="absent" if race.peer else "none")
    return dataclasses.replace(
        line,
        peer=theirs.name,
        theirs=theirs.figure,
        mark="same run" if live else "stored",
        source=theirs.source,
        # what was measured on another day says nothing about how many times as fast one is
        ratio=theirs.figure / ours.figure if live and ours.figure > 0 else None,
    )


# ------------------------------------------------------------------------------------------ telling


def shown(value: float | None, unit: str) -> str:
    """A figure with three digits and its unit."""
    if value is None:
        return "–"
    if unit == "n^":
        return f"n^{value:.2f}"
    digits = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"{digits} {unit.split(maxsplit=1)[0]}"


def times_of(ratio: float | None) -> str:
    """How many times as much the peer took."""
    return "–" if ratio is None else f"{ratio:,.0f}×" if ratio >= 10 else f"{ratio:.2g}×"


def columns(line: Line) -> tuple[str, ...]:
    """A line as texts: task, peer, theirs, ours, ratio, aim, result."""
    peer = (
        line.peer + ("*" if line.mark == "stored" else "")
        if line.peer
        else "absent"
        if line.mark == "absent"
        else "–"
    )
    aim = f"≤ {shown(line.aim, line.unit)}" if line.aim is not None else "–"
    wall = " (wall)" if line.unit == "s wall" else ""
    told = (
        shown(line.theirs, line.unit),
        shown(line.ours, line.unit),
        times_of(line.ratio),
        aim,
        line.result,
    )
    return (line.task + wall, peer, *told)


HEADS = ("task", "peer", "theirs", "ours", "ratio", "aim", "result")
WIDTHS = (10, 10, 7, 11, 8)


def text_line(cells: Sequence[str], width: int) -> str:
    """One line that fits the terminal: the task and the peer's name give way."""
    peer = 19 if width >= 100 else 11
    task = max(20, width - peer - sum(WIDTHS) - 1)
    numbers = "".join(f"{cell:>{wide}}" for cell, wide in zip(cells[2:], WIDTHS, strict=True))
    return f"{cut(cells[0], task):<{task}} {cut(cells[1], peer - 1):<{peer}}{numbers}"


def cut(text: str, width: int) -> str:
    """A text that fits; a star at its end stays."""
    star = "*" if text.endswith("*") else ""
    return text if len(text) <= width else text[: width - 1 - len(star)] + "…" + star


def machine() -> dict[str, Any]:
    """Where and with what this runs."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="minutes"),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
        "load": load(),
    }


def version(package: str) -> str:
    """The version of a package, as it is installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def load() -> float:
    """How many processes wanted a core in the last minute; 0 where nobody counts."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else 0.0


def is_busy(about: dict[str, Any]) -> bool:
    """Whether others wanted the machine: before the races, or during them more than our own threads
    can.
    """
    return bool(about["load"] > BUSY or about.get("highest_load", 0) > (about["cores"] or 1) + BUSY)


def notes(lines: Sequence[Line]) -> list[str]:
    """What the table has no room for: sources of stored figures, what was skipped or wrong and
    why.
    """
    tasks: dict[str, list[str]] = {}
    for line in lines:
        if line.mark == "stored":
            tasks.setdefault(line.source, []).append(line.task)
    told = [f"* stored: {source}: {'; '.join(names)}" for source, names in tasks.items()]
    told += [f"{line.task}: {line.note}" for line in lines if line.note]
    return told + [
        f"{line.task}: WRONG: {line.check}; seen: {line.seen}"
        for line in lines
        if line.result == "wrong"
    ]


def markdown(found: dict[str, Any]) -> str:
    """The table of the page, with where and when it was measured: ratios to peers that ran in the
    same run, and growth.
    """
    about, lines = found["machine"], [Line(**line) for line in found["races"]]
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    busy = (
        " **Busy machine**: others were at work; wall seconds say little, and CPU seconds are"
        " higher than on a quiet one."
        if is_busy(about)
        else ""
    )
    head = (
        f"{about['date'][:10]}, {about['cores']} cores, {about['system']}, Python"
        f" {about['python']}, {versions}; load {about['load']}.{busy}"
    )
    told = [
        line
        for line in lines
        if line.ratio is not None or (line.unit == "n^" and line.ours is not None)
    ]
    rows = [
        f"| {line.task.replace('|', '/')} | {line.peer or '–'} | {page_figure(line)} |"
        for line in told
    ]
    wrong = [
        f"- {line.task}: WRONG: {line.check}; seen: {line.seen}"
        for line in lines
        if line.result == "wrong"
    ]
    table = [head, "", "| task | peer in the same run | ratio or growth |", "|---|---|---:|", *rows]
    return "\n".join([*table, "", *wrong] if wrong else table)


def page_figure(line: Line) -> str:
    """What the page says of a race: nothing that another machine or another day would change, such
    as seconds.
    """
    return shown(line.ours, line.unit) if line.unit == "n^" else times_of(line.ratio)


def write_page(found: dict[str, Any], page: Path = PAGE) -> None:
    """Put the table between the marks of the page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{markdown(found)}\n\n{END}{after}", encoding="utf-8")


# ------------------------------------------------------------------------------------------ calling


def races_of(scripts: Iterable[str]) -> list[Race]:
    """All races of some scripts."""
    return [race for name in scripts for race in importlib.import_module(name).RACES]


def hold(races: Iterable[Race], options: Options, file: Path) -> int:
    """Hold races, print and write what came of them, one by one; 1 where a result was wrong or none
    came.
    """
    about, width = machine(), shutil.get_terminal_size((100, 24)).columns
    print(text_line(HEADS, width))
    lines: list[Line] = []
    for race in races:
        lines.append(run(race, options))
        about["highest_load"] = max(load(), about.get("highest_load", 0.0))
        print(text_line(columns(lines[-1]), width), flush=True)
        write_results(file, about, lines)
    for note in notes(lines):
        print(f"  {note}")
    print(
        f"load {about['load']}{', busy machine' if is_busy(about) else ''};"
        f" {file.relative_to(HOME)}"
    )
    return int(any(line.result in ("wrong", "failed") for line in lines))


def write_results(file: Path, about: dict[str, Any], lines: Iterable[Line]) -> None:
    """The JSON file: whatever stops the races, those that were held are told."""
    file.parent.mkdir(parents=True, exist_ok=True)
    told = {
        "machine": {**about, "busy": is_busy(about)},
        "races": [dataclasses.asdict(line) for line in lines],
    }
    file.write_text(json.dumps(told, indent=1, ensure_ascii=False), encoding="utf-8")


def main(scripts: Sequence[str] = SCRIPTS, name: str = "race") -> None:
    """Read the options and hold the races of some scripts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=float, default=1e6, help="largest generated table")
    parser.add_argument("--peers", default=sys.executable, help="the Python that has the peers")
    parser.add_argument(
        "--slow", action="store_true", help="races and peers that take minutes, too"
    )
    parser.add_argument("--only", default="", help="races whose task contains this")
    parser.add_argument(
        "--table",
        action="store_true",
        help="write the table of benchmarks/README.md and measure nothing",
    )
    given, file = parser.parse_args(), RESULTS / f"{name}.json"
    if given.table:
        write_page(json.loads(file.read_text(encoding="utf-8")))
        return
    asked = [race for race in races_of(scripts) if given.only.lower() in race.task.lower()]
    chosen = [race for race in asked if given.slow or not race.slow]
    if len(chosen) < len(asked):
        print(f"({len(asked) - len(chosen)} races that take long are left out: --slow)")
    if given.only:
        file = file.with_name(f"{name}-part.json")
    sys.exit(hold(chosen, Options(int(given.rows), given.peers, given.slow), file))


def script(file: str) -> None:
    """What a script does when it is called by itself."""
    name = Path(file).stem
    main((name,), name)


once = functools.cache
"""Races that tell several figures of one piece of work share it."""


if __name__ == "__main__":
    importlib.import_module(
        "race"
    ).main()  # not this copy of the module: scripts import the other one
