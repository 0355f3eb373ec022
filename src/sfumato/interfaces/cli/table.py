"""``sfumato table``: counts and sums by columns, protected, audited and certified."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from sfumato.core.source import NOTHING_SAID, Intake
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.console import give_json, out, progress, tell
from sfumato.interfaces.cli.options import Data, Json, Quiet, read_data, reading
from sfumato.interfaces.cli.register_options import RegisterFile, RegisterKey

if TYPE_CHECKING:
    from sfumato.results.tables.published_tables import Beside
    from sfumato.results.tables.rules import SensitivityRule

TIMES = re.compile(r"\s*[×*]\s*|\s+x\s+")
QUOTED = re.compile(r"""(?<![^\s;:×*(])(?:'((?:[^']|'')*)'|"((?:[^"]|"")*)")(?![^\s;:×*)])""")
HELD = re.compile("\ue000(\\d+)\ue001")
SUM = re.compile(r"sum\(\s*(.+?)\s*\)")


@reading
def table(
    data: Data,
    what: Annotated[
        str,
        typer.Argument(
            help="columns and what is told: 'region × diagnosis: sum(cost)', 'region x sex: count'; several tables with ';' between; names with such signs in quotes: \"'a x b' × c\""
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="the folder to write: share/ and owner/")
    ] = None,
    protect: Annotated[bool, typer.Option("--protect", help="suppress or change cells until the audit holds")] = False,
    method: Annotated[str, typer.Option(help="auto, exact, heuristic, rounding, cta or perturb")] = "auto",
    recipe: Annotated[
        Path | None, typer.Option("--recipe", "-r", help="a recipe, for hierarchies and the person's column")
    ] = None,
    unit: Annotated[str | None, typer.Option(help="the column that tells persons apart; else every row is one")] = None,
    weight: Annotated[str | None, typer.Option(help="a column that contributions are multiplied by")] = None,
    threshold: Annotated[int | None, typer.Option(help="fewest persons in a cell")] = None,
    zeros: Annotated[bool, typer.Option("--zeros-disclosive", help="empty cells are sensitive too")] = False,
    dominance: Annotated[str | None, typer.Option(help="n,k: the n largest contribute at most k percent: 2,90")] = None,
    p_percent: Annotated[
        float | None, typer.Option(help="nobody can estimate the largest within so many percent")
    ] = None,
    pq: Annotated[str | None, typer.Option(help="p,q: the same by one who knows all within q percent: 10,50")] = None,
    colluders: Annotated[int, typer.Option(help="respondents who put together what they know, for p and pq")] = 1,
    group: Annotated[str | None, typer.Option(help="a column that must not be told of whole groups")] = None,
    all_equal: Annotated[
        bool, typer.Option("--all-equal", help="cells of equal contributions are sensitive too")
    ] = False,
    negatives: Annotated[bool, typer.Option("--negatives", help="negative contributions count by their size")] = False,
    missing_counts: Annotated[
        bool, typer.Option("--missing-counts", help="count persons whose contribution is missing")
    ] = False,
    base: Annotated[int | None, typer.Option(help="of rounding and perturb: multiples of this")] = None,
    reach: Annotated[int, typer.Option(help="of rounding: so many multiples away at most")] = 1,
    free_zeros: Annotated[
        bool, typer.Option("--free-zeros", help="empty cells may be suppressed to protect others")
    ] = False,
    cost: Annotated[str, typer.Option(help="what a suppressed cell costs: value, one or log")] = "value",
    seed: Annotated[str | None, typer.Option(help="hexadecimal text, for perturb")] = None,
    slide: Annotated[
        float,
        typer.Option(
            help="how wide the interval of a sensitive cell must be, as a multiple of what is asked for on both sides",
            min=0,
        ),
    ] = 0.0,
    prior: Annotated[
        float | None, typer.Option(help="an intruder knows every cell within so many percent before", min=0)
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            help='only records that fulfil this: "year = 2024 and age >= 18 and region in n1, n2"; operators: = != < <= > >= in, not in; values with signs in quotes'
        ),
    ] = None,
    register: RegisterFile = None,
    to: Annotated[str | None, typer.Option("--to", help="with --register: who receives the table")] = None,
    register_key: RegisterKey = None,
    force: Annotated[bool, typer.Option("--force", help="replace an earlier release")] = False,
    sign: Annotated[Path | None, typer.Option(help="a private key to sign the certificate with")] = None,
    json: Json = False,
    quiet: Quiet = False,
    intake: Intake = NOTHING_SAID,
) -> None:
    """Count persons or sum a column by other columns, and publish what nobody can be computed from.

    Without --protect only says how many cells are sensitive. Exit code 4 when nothing can be published, 1 when an audit fails.
    With --register the table is protected and audited together with those published before of the same records.
    """
    from sfumato.core import recipe_files as recipes
    from sfumato.core.exchange import refuse_existing
    from sfumato.interfaces.api import with_recipe
    from sfumato.results.tables.table import tabulate

    groups, measure = asked(what)
    if output is not None and not protect:
        raise ParameterError("a table is written only when it is protected: give --protect with -o")
    if output is not None:
        refuse_existing(output, force=force)
    known = _register(register, to, register_key, output)
    loaded = None if recipe is None else recipes.load(recipe)
    read = read_data(data, quiet=quiet, intake=intake, recipe=loaded)
    dataset = read if loaded is None else with_recipe(read, loaded)[0].in_memory("table")
    rules = _rules(threshold, zeros, dominance, p_percent, pq, colluders, group, all_equal)
    with progress("tabulating", quiet=quiet) as on_progress, solvers_aside(), warnings_told(quiet=quiet):
        made = tabulate(
            dataset,
            groups,
            measure,
            unit=unit,
            weight=weight,
            negatives="absolute" if negatives else "refuse",
            missing_counts=missing_counts,
            where=where,
            register=known,
        )
        judged = made.sensitive(*rules)
        zeroed: Any = "free" if free_zeros else "known"
        priced: Any = cost
        how: dict[str, Any] = {"base": base, "reach": reach, "seed": seed, "slide": slide, "prior": prior}
        protected = (
            judged.protect(method, weight=priced, zeros=zeroed, progress=on_progress, **how) if protect else None
        )
        if output is not None and protected is not None:
            protected.write(output, force=force, sign=sign, to=to)
    if protected is None:
        _tell_sensitive(judged, json=json)
        return
    if json:
        told = {} if protected.beside is None else {"register": protected.beside.to_dict()}
        give_json({**protected.summary(), "folder": None if output is None else str(output), **told})
    elif output is None:
        for number in range(len(groups)):
            out().print(protected.to_polars(number).write_csv().rstrip("\n"), markup=False, soft_wrap=True)
    for sentence in protected.own_sentences if not json else ():
        if sentence == protected.unknown:  # marked, and not left out when talk is
            out().print(f"[yellow]![/] {escape(sentence)}", soft_wrap=True)
        else:
            tell(sentence, quiet=quiet)
    if protected.beside is not None and not json:
        _tell_beside(protected.beside)
    if output is not None:
        tell(
            f"share  {output / 'share'}: table, certificate, page\nkeep   {output / 'owner'}: lock and page with parameters and intervals",
            quiet=quiet,
        )


def _tell_beside(beside: Beside) -> None:
    """Print what the table tells together with releases before it; what is unknown is marked, and not left out when talk is."""
    mark = "[green]✓[/]" if beside.verdict == "holds" else "[yellow]![/]"
    for sentence in beside.sentences:
        out().print(f"{mark} {escape(sentence)}", soft_wrap=True)


def _register(register: Path | None, to: str | None, key: Path | None, output: Path | None) -> Any:
    """The register of a table, open and checked; options that go without one are refused."""
    if register is None:
        if to or key:
            raise ParameterError("--to and --register-key go with --register")
        return None
    if not to or output is None:
        raise ParameterError(
            "a register wants to know what was published and who receives it: give --protect -o FOLDER --to RECIPIENT"
        )
    from sfumato.release.register.store import open_register

    return open_register(register, key=key)


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
        warnings.showwarning = lambda message, *_, **__: tell(f"note: {escape(str(message))}", quiet=quiet)
        yield


def _tell_sensitive(judged: Any, *, json: bool) -> None:
    if json:
        give_json({"cells": len(judged.unsafe), "sensitive": len(judged), "by_rule": judged.count()})
        return
    out().print(f"{len(judged):,} of {len(judged.unsafe):,} cells are sensitive", markup=False)
    from sfumato.results.tables.rules import parameters_of

    count = judged.count()
    for rule in judged.rules:
        out().print(
            f"  {rule.name.replace('_', ' ')}: {count[rule.name]:,}  ({parameters_of(rule.said())})", markup=False
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
    groups = [[_name(name, names) for name in TIMES.split(part.strip())] for part in columns.split(";") if part.strip()]
    if not groups or not all(all(group) for group in groups):
        raise ParameterError("say what is tabulated: 'region × diagnosis: sum(cost)', with x or * for × if you like")
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
            "a quote stands around a whole name, and is closed: \"'a x b' × c: sum('cost: net')\"; a quote inside of a name is written twice"
        )
    return text


def _rules(
    threshold: int | None,
    zeros: bool,
    dominance: str | None,
    p_percent: float | None,
    pq: str | None,
    colluders: int,
    group: str | None,
    all_equal: bool,
) -> list[SensitivityRule]:
    """The rules that were named; an empty list means the usual ones."""
    from sfumato.results.tables.rules import PQ, AllEqual, Dominance, GroupDisclosure, PPercent, Threshold

    rules: list[SensitivityRule] = []
    if threshold is not None or zeros:
        rules.append(Threshold(threshold if threshold is not None else 10, zeros=zeros))
    if dominance is not None:
        n, k = _pair(dominance, "--dominance")
        rules.append(Dominance(int(n), k))
    if p_percent is not None:
        rules.append(PPercent(p_percent, colluders))
    if pq is not None:
        p, q = _pair(pq, "--pq")
        rules.append(PQ(p, q, colluders))
    if group is not None:
        rules.append(GroupDisclosure(group))
    if all_equal:
        rules.append(AllEqual())
    if colluders != 1 and p_percent is None and pq is None:
        raise ParameterError("--colluders goes with --p-percent or --pq")
    return rules


def _pair(text: str, option: str) -> tuple[float, float]:
    parts = text.split(",")
    try:
        first, second = (float(part) for part in parts)
    except ValueError:
        raise ParameterError(f"{option} takes two numbers with a comma between, such as 2,90") from None
    return first, second
