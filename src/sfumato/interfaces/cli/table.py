"""``sfumato table``: counts and sums by columns, protected, audited and certified."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from rich.markup import escape

from sfumato.core.options import CommandOption
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.command import command
from sfumato.interfaces.cli.console import give_json, out, progress, tell
from sfumato.interfaces.cli.options import Data, ReadOptions, ShowOptions, read_data
from sfumato.interfaces.cli.register_options import TableRegisterOptions

if TYPE_CHECKING:
    from sfumato.release.register.store import Register
    from sfumato.results.tables.protected_table import ProtectOptions
    from sfumato.results.tables.published_tables import Beside
    from sfumato.results.tables.rules import SensitivityRule
    from sfumato.results.tables.table import CountOptions

TIMES = re.compile(r"\s*[×*]\s*|\s+x\s+")
QUOTED = re.compile(r"""(?<![^\s;:×*(])(?:'((?:[^']|'')*)'|"((?:[^"]|"")*)")(?![^\s;:×*)])""")
HELD = re.compile("\ue000(\\d+)\ue001")
SUM = re.compile(r"sum\(\s*(.+?)\s*\)")


@dataclass(frozen=True)
class RuleOptions:
    """When a cell is sensitive."""

    panel: ClassVar[str] = "When a cell is sensitive"
    threshold: Annotated[int | None, CommandOption("fewest persons in a cell")] = None
    zeros: Annotated[
        bool, CommandOption("empty cells are sensitive too", ("--zeros-disclosive",))
    ] = False
    dominance: Annotated[
        str | None, CommandOption("n,k: the n largest have at most k percent: 2,90")
    ] = None
    p_percent: Annotated[
        float | None, CommandOption("nobody estimates the largest within so many percent")
    ] = None
    pq: Annotated[
        str | None, CommandOption("p,q: nor does one who knows all within q percent: 10,50")
    ] = None
    colluders: Annotated[int, CommandOption("respondents who collude, for p and pq")] = 1
    group: Annotated[
        str | None, CommandOption("a column that must not be told of whole groups")
    ] = None
    all_equal: Annotated[
        bool, CommandOption("cells of equal contributions are too", ("--all-equal",))
    ] = False


@dataclass(frozen=True)
class ProtectFlags:
    """How cells are protected."""

    panel: ClassVar[str] = "How cells are protected"
    method: Annotated[str, CommandOption("auto, exact, heuristic, rounding, cta or perturb")] = (
        "auto"
    )
    base: Annotated[int | None, CommandOption("rounding, perturb: multiples of this")] = None
    reach: Annotated[int, CommandOption("rounding: so many multiples away at most")] = 1
    free_zeros: Annotated[
        bool, CommandOption("empty cells may be suppressed too", ("--free-zeros",))
    ] = False
    cost: Annotated[str, CommandOption("of a suppressed cell: value, one or log")] = "value"
    seed: Annotated[str | None, CommandOption("hexadecimal text, for perturb")] = None
    slide: Annotated[
        float,
        CommandOption(
            "width of a sensitive interval, in multiples of what is asked on both sides", minimum=0
        ),
    ] = 0.0
    prior: Annotated[
        float | None,
        CommandOption("percent within which an intruder knows cells before", minimum=0),
    ] = None

    @property
    def options(self) -> ProtectOptions:
        """The same as protecting takes it."""
        from sfumato.results.tables.protected_table import ProtectOptions

        return ProtectOptions(
            zeros="free" if self.free_zeros else "known",
            reach=self.reach,
            slide=self.slide,
            prior=self.prior,
        )


@dataclass(frozen=True)
class CountFlags:
    """What is counted."""

    panel: ClassVar[str] = "What is counted"
    unit: Annotated[str | None, CommandOption("column of the person; else every row is one")] = None
    weight: Annotated[str | None, CommandOption("column that contributions are multiplied by")] = (
        None
    )
    negatives: Annotated[
        bool, CommandOption("negative contributions count by size", ("--negatives",))
    ] = False
    missing_counts: Annotated[
        bool, CommandOption("count persons with no contribution", ("--missing-counts",))
    ] = False
    where: Annotated[
        str | None,
        CommandOption(
            'only these records: "year = 2024 and region in n1, n2"; = != < <= > >= in, not in'
        ),
    ] = None

    @property
    def options(self) -> CountOptions:
        """The same as tabulating takes it."""
        from sfumato.results.tables.table import CountOptions

        return CountOptions(
            weight=self.weight,
            negatives="absolute" if self.negatives else "refuse",
            missing_counts=self.missing_counts,
        )


@dataclass(frozen=True, kw_only=True)
class TableFiles(TableRegisterOptions, ShowOptions):
    """Where the table goes, and whether it is protected."""

    panel: ClassVar[None] = None  # type: ignore[assignment]
    output: Annotated[
        Path | None, CommandOption("folder to make: share/ and owner/", ("--output", "-o"))
    ] = None
    protect: Annotated[
        bool, CommandOption("change cells until the audit holds", ("--protect",))
    ] = False
    recipe: Annotated[
        Path | None,
        CommandOption("a recipe, for hierarchies and the person's column", ("--recipe", "-r")),
    ] = None
    force: Annotated[bool, CommandOption("replace an earlier release", ("--force",))] = False
    sign: Annotated[Path | None, CommandOption("a private key to sign the certificate with")] = None


@command()
def table(
    data: Data,
    what: Annotated[
        str,
        typer.Argument(
            help=(
                "columns and what is told: 'region × diagnosis: sum(cost)', 'region x sex: count';"
                " several tables with ';' between; names with such signs in quotes: \"'a x b' × c\""
            )
        ),
    ],
    *,
    files: TableFiles,
    counted: CountFlags,
    rule: RuleOptions,
    means: ProtectFlags,
    reading: ReadOptions,
) -> None:
    """Count persons or sum a column by other columns, and publish what nobody can be computed from.

    Without --protect only says how many cells are sensitive. Exit code 4 when nothing can be
    published, 1 when an audit fails. With --register the table is protected and audited together
    with those published before of the same records.
    """
    from sfumato.core import recipe_files as recipes
    from sfumato.core.exchange import refuse_existing
    from sfumato.interfaces.api import with_recipe
    from sfumato.results.tables.table import tabulate

    groups, measure = asked(what)
    if files.output is not None and not files.protect:
        raise ParameterError("a table is written only when it is protected: give --protect with -o")
    if files.output is not None:
        refuse_existing(files.output, force=files.force)
    known = _register(files)
    loaded = None if files.recipe is None else recipes.load(files.recipe)
    read = read_data(data, quiet=files.quiet, intake=reading.intake, recipe=loaded)
    dataset = read if loaded is None else with_recipe(read, loaded)[0].in_memory("table")
    rules = _rules(rule)
    with (
        progress("tabulating", quiet=files.quiet) as on_progress,
        solvers_aside(),
        warnings_told(quiet=files.quiet),
    ):
        made = tabulate(
            dataset,
            groups,
            measure,
            unit=counted.unit,
            where=counted.where,
            register=known,
            options=counted.options,
        )
        judged = made.sensitive(*rules)
        protected = None
        if files.protect:
            protected = judged.protect(
                means.method,
                weight=means.cost,
                base=means.base,
                seed=means.seed,
                options=means.options,
                progress=on_progress,
            )
        if files.output is not None and protected is not None:
            protected.write(files.output, force=files.force, sign=files.sign, to=files.to)
    if protected is None:
        _tell_sensitive(judged, json=files.json)
        return
    if files.json:
        told = {} if protected.beside is None else {"register": protected.beside.to_dict()}
        give_json(
            {
                **protected.summary(),
                "folder": None if files.output is None else str(files.output),
                **told,
            }
        )
    elif files.output is None:
        for number in range(len(groups)):
            out().print(
                protected.to_polars(number).write_csv().rstrip("\n"), markup=False, soft_wrap=True
            )
    for sentence in protected.own_sentences if not files.json else ():
        if sentence == protected.unknown:  # marked, and not left out when talk is
            out().print(f"[yellow]![/] {escape(sentence)}", soft_wrap=True)
        else:
            tell(sentence, quiet=files.quiet)
    if protected.beside is not None and not files.json:
        _tell_beside(protected.beside)
    if files.output is not None:
        tell(
            f"share  {files.output / 'share'}: table, certificate, page\n"
            f"keep   {files.output / 'owner'}: lock and page with parameters and intervals",
            quiet=files.quiet,
        )


def _tell_beside(beside: Beside) -> None:
    """Print what the table tells together with releases before it; what is unknown is marked, and
    not left out when talk is.
    """
    mark = "[green]✓[/]" if beside.verdict == "holds" else "[yellow]![/]"
    for sentence in beside.sentences:
        out().print(f"{mark} {escape(sentence)}", soft_wrap=True)


def _register(named: TableFiles) -> Register | None:
    """The register of a table, open and checked; options that go without one are refused."""
    if named.register is None:
        if named.to or named.register_key:
            raise ParameterError("--to and --register-key go with --register")
        return None
    if not named.to or named.output is None:
        raise ParameterError(
            "a register wants to know what was published and who receives it: give --protect -o"
            " FOLDER --to RECIPIENT"
        )
    from sfumato.release.register.store import open_register

    return open_register(named.register, key=named.register_key)


@contextlib.contextmanager
def solvers_aside() -> Iterator[None]:
    """Solvers talk to the standard output now and then; what they say goes where talk goes."""
    try:
        kept = os.dup(1)
    except OSError:  # no standard output
        yield
        return
    sys.stdout.flush()
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


@contextlib.contextmanager
def warnings_told(*, quiet: bool) -> Iterator[None]:
    """Warnings are told when they come, in the words they have and no others."""
    from sfumato.results.tables.protected_table import SlowTable

    with warnings.catch_warnings():
        warnings.simplefilter("always", SlowTable)
        warnings.showwarning = lambda message, *_, **__: tell(
            f"note: {escape(str(message))}", quiet=quiet
        )
        yield


def _tell_sensitive(judged: Any, *, json: bool) -> None:
    if json:
        give_json(
            {"cells": len(judged.unsafe), "sensitive": len(judged), "by_rule": judged.count()}
        )
        return
    out().print(f"{len(judged):,} of {len(judged.unsafe):,} cells are sensitive", markup=False)
    from sfumato.results.tables.rules import parameters_of

    count = judged.count()
    for rule in judged.rules:
        out().print(
            f"  {rule.name.replace('_', ' ')}: {count[rule.name]:,} "
            f" ({parameters_of(rule.said())})",
            markup=False,
        )


def asked(what: str) -> tuple[list[list[str]], str]:
    """The columns of every table, and what is told of them; a name in quotes is taken as it stands.

    >>> asked("region × diagnosis: sum(cost)"), asked("a x b; a*c: count")
    (([['region', 'diagnosis']], 'sum(cost)'), ([['a', 'b'], ['a', 'c']], 'count'))
    >>> asked("'a x b' × c: sum('cost: net')")
    ([['a x b', 'c']], 'sum(cost: net)')
    """
    names: list[str] = []

    def hold(found: re.Match[str]) -> str:
        quote = found[0][0]
        names.append(found[0][1:-1].replace(quote * 2, quote))
        return f"\ue000{len(names) - 1}\ue001"

    columns, colon, measure = QUOTED.sub(hold, what).rpartition(":")
    if not colon:
        columns, measure = measure, "count"
    groups = [
        [_name(name, names) for name in TIMES.split(part.strip())]
        for part in columns.split(";")
        if part.strip()
    ]
    if not groups or not all(all(group) for group in groups):
        raise ParameterError(
            "say what is tabulated: 'region × diagnosis: sum(cost)', with x or * for × if you like"
        )
    summed = SUM.fullmatch(measure.strip())
    return groups, measure.strip() if summed is None else f"sum({_name(summed[1], names)})"


def _name(text: str, quoted: list[str]) -> str:
    """A name as it was typed, out of its quotes."""
    text = text.strip()
    held = HELD.fullmatch(text)
    if held is not None:
        return quoted[int(held[1])]
    if HELD.search(text) or text[:1] in ("'", '"'):
        raise ParameterError(
            "a quote stands around a whole name, and is closed: \"'a x b' × c: sum('cost: net')\";"
            " a quote inside of a name is written twice"
        )
    return text


def _rules(said: RuleOptions) -> list[SensitivityRule]:
    """The rules that were named; an empty list means the usual ones."""
    from sfumato.results.tables.rules import (
        PQ,
        AllEqual,
        Dominance,
        GroupDisclosure,
        PPercent,
        Threshold,
    )

    rules: list[SensitivityRule] = []
    if said.threshold is not None or said.zeros:
        rules.append(
            Threshold(said.threshold if said.threshold is not None else 10, zeros=said.zeros)
        )
    if said.dominance is not None:
        n, k = _pair(said.dominance, "--dominance")
        rules.append(Dominance(int(n), k))
    if said.p_percent is not None:
        rules.append(PPercent(said.p_percent, said.colluders))
    if said.pq is not None:
        p, q = _pair(said.pq, "--pq")
        rules.append(PQ(p, q, said.colluders))
    if said.group is not None:
        rules.append(GroupDisclosure(said.group))
    if said.all_equal:
        rules.append(AllEqual())
    if said.colluders != 1 and said.p_percent is None and said.pq is None:
        raise ParameterError("--colluders goes with --p-percent or --pq")
    return rules


def _pair(text: str, option: str) -> tuple[float, float]:
    parts = text.split(",")
    try:
        first, second = (float(part) for part in parts)
    except ValueError:
        raise ParameterError(
            f"{option} takes two numbers with a comma between, such as 2,90"
        ) from None
    return first, second
