"""``sfumato table``: counts and sums by columns, protected, audited and certified."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer
from rich.markup import escape

from sfumato.core.options import CommandOption
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.command import Keywords, command
from sfumato.interfaces.cli.console import give_json, out, progress, tell
from sfumato.interfaces.cli.options import Data, ReadOptions, ShowOptions, read_data
from sfumato.interfaces.cli.register_options import TableRegisterOptions

if TYPE_CHECKING:
    from sfumato.release.register.store import Register
    from sfumato.results.tables.protected_table import ProtectedTable
    from sfumato.results.tables.published_tables import Beside
    from sfumato.results.tables.rules import SensitivityRule
    from sfumato.results.tables.table import SensitiveTable

# × and * part names with or without blanks; the letter x only between blanks, for names hold it.
TIMES = re.compile(r"\s*[×*]\s*|\s+x\s+")
# A quote opens only where a name begins and closes where it ends: it's is a plain word.
QUOTED = re.compile(r"""(?<![^\s;:×*(])(?:'((?:[^']|'')*)'|"((?:[^"]|"")*)")(?![^\s;:×*)])""")
# A quoted name waits between two signs for private use, which names do not hold.
PLACEHOLDER = re.compile("\ue000(\\d+)\ue001")
SUM = re.compile(r"sum\(\s*(.+?)\s*\)")
USUAL_THRESHOLD = 10


@dataclass(frozen=True)
class CellOptions:
    """When a cell is sensitive; and what is said of cells in other words than Python has for it."""

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
        str | None, CommandOption("a column whose values must not be revealed for whole groups")
    ] = None
    all_equal: Annotated[
        bool, CommandOption("cells of equal contributions are sensitive too", ("--all-equal",))
    ] = False
    negatives: Annotated[
        bool,
        CommandOption(
            "negative contributions count by size", ("--negatives",), panel="What is counted"
        ),
    ] = False
    cost: Annotated[
        str,
        CommandOption("of a suppressed cell: value, one or log", panel="How cells are protected"),
    ] = "value"
    free_zeros: Annotated[
        bool,
        CommandOption(
            "empty cells may be suppressed too",
            ("--free-zeros",),
            panel="How cells are protected",
        ),
    ] = False

    def rules(self) -> list[SensitivityRule]:
        """The rules that were named; an empty list means the usual ones."""
        from sfumato.results.tables import rules

        if self.colluders != 1 and self.p_percent is None and self.pq is None:
            raise ParameterError("--colluders goes with --p-percent or --pq")
        named_rules: list[SensitivityRule] = []
        if self.threshold is not None:
            named_rules.append(rules.Threshold(self.threshold, zeros=self.zeros))
        # Empty cells as sensitive ones need a threshold; none was given, so it is the usual one.
        elif self.zeros:
            named_rules.append(rules.Threshold(USUAL_THRESHOLD, zeros=True))
        if self.dominance is not None:
            n, k = _two_numbers(self.dominance, "--dominance")
            named_rules.append(rules.Dominance(int(n), k))
        if self.p_percent is not None:
            named_rules.append(rules.PPercent(self.p_percent, self.colluders))
        if self.pq is not None:
            p, q = _two_numbers(self.pq, "--pq")
            named_rules.append(rules.PQ(p, q, self.colluders))
        if self.group is not None:
            named_rules.append(rules.GroupDisclosure(self.group))
        if self.all_equal:
            named_rules.append(rules.AllEqual())
        return named_rules


@dataclass(frozen=True, kw_only=True)
class TableFiles(TableRegisterOptions, ShowOptions):
    """Where the table goes, and whether it is protected."""

    panel: ClassVar[None] = None  # type: ignore[assignment]
    output: Annotated[
        Path | None, CommandOption("folder to create: share/ and owner/", ("--output", "-o"))
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


@command(
    "sfumato.results.tables.table:tabulate",
    "sfumato.results.tables.protected_table:protect",
)
def table(
    data: Data,
    what: Annotated[
        str,
        typer.Argument(
            help=(
                "columns and statistic: 'region × diagnosis: sum(cost)', 'region x sex: count'; "
                "several tables separated by ';'; quote names that contain such signs: \"'a x b' × "
                'c"'
            )
        ),
    ],
    *,
    files: TableFiles,
    counting: Keywords,
    protecting: Keywords,
    cells: CellOptions,
    reading: ReadOptions,
) -> None:
    """Count persons or sum a column by other columns, and publish a table from which nobody can be
    computed.

    Without --protect only says how many cells are sensitive. Exit code 4 when nothing can be
    published, 1 when an audit fails. With --register the table is protected and audited together
    with those published before of the same records.
    """
    from sfumato.core import recipe_files as recipes
    from sfumato.core.exchange import refuse_existing
    from sfumato.interfaces.api import with_recipe
    from sfumato.results.tables.table import tabulate

    groups, measure = read_request(what)
    if files.output is not None:
        if not files.protect:
            raise ParameterError("only a protected table can be written: give --protect with -o")
        refuse_existing(files.output, force=files.force)
    register = _open_register(files)
    recipe = None if files.recipe is None else recipes.load(files.recipe)
    dataset = read_data(data, quiet=files.quiet, intake=reading.intake, recipe=recipe)
    if recipe is not None:
        dataset = with_recipe(dataset, recipe)[0].in_memory("table")
    rules = cells.rules()
    if cells.negatives:
        counting["options"] = replace(counting["options"], negatives="absolute")
    if cells.free_zeros:
        protecting["options"] = replace(protecting["options"], zeros="free")
    with (
        progress("tabulating", quiet=files.quiet) as on_progress,
        solvers_aside(),
        show_warnings(quiet=files.quiet),
    ):
        counts = tabulate(dataset, groups, measure, register=register, **counting)
        sensitive = counts.sensitive(*rules)
        protected = None
        if files.protect:
            protected = sensitive.protect(weight=cells.cost, progress=on_progress, **protecting)
            if files.output is not None:
                protected.write(files.output, force=files.force, sign=files.sign, to=files.to)
    if protected is None:
        _show_sensitive(sensitive, json=files.json)
        return
    if files.json:
        summary = {**protected.summary(), "folder": None}
        if files.output is not None:
            summary["folder"] = str(files.output)
        if protected.beside is not None:
            summary["register"] = protected.beside.to_dict()
        give_json(summary)
    else:
        _show_protected(protected, len(groups), files)
    if files.output is not None:
        tell(
            f"share  {files.output / 'share'}: table, certificate, page\n"
            f"keep   {files.output / 'owner'}: lock and page with parameters and intervals",
            quiet=files.quiet,
        )


def _show_protected(protected: ProtectedTable, tables: int, files: TableFiles) -> None:
    """Print the tables, unless they are in a folder, and what the audit says of them."""
    if files.output is None:
        for number in range(tables):
            text = protected.to_polars(number).write_csv().rstrip("\n")
            out().print(text, markup=False, soft_wrap=True)
    for sentence in protected.own_sentences:
        if sentence == protected.unknown:  # marked, and shown with --quiet too
            out().print(f"[yellow]![/] {escape(sentence)}", soft_wrap=True)
        else:
            tell(sentence, quiet=files.quiet)
    if protected.beside is not None:
        _show_beside(protected.beside)


def _show_beside(beside: Beside) -> None:
    """Print what the table tells together with releases before it; what is unknown is marked, and
    shown with --quiet too.
    """
    mark = "[green]✓[/]" if beside.verdict == "holds" else "[yellow]![/]"
    for sentence in beside.sentences:
        out().print(f"{mark} {escape(sentence)}", soft_wrap=True)


def _open_register(files: TableFiles) -> Register | None:
    """The register of a table, open and checked; options that go without one are refused."""
    if files.register is None:
        if files.to or files.register_key:
            raise ParameterError("--to and --register-key go with --register")
        return None
    if not files.to or files.output is None:
        raise ParameterError(
            "a register records what was published and who receives it: give --protect -o FOLDER "
            "--to RECIPIENT"
        )
    from sfumato.release.register.store import open_register

    return open_register(files.register, key=files.register_key)


@contextlib.contextmanager
def solvers_aside() -> Iterator[None]:
    """Solvers print to the standard output now and then; what they say goes to stderr."""
    try:
        # Solvers write to descriptor 1 past Python, so the descriptor itself is turned to stderr.
        stdout = os.dup(1)
    except OSError:  # no standard output
        yield
        return
    # What Python still holds back belongs to the old descriptor.
    sys.stdout.flush()
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)


@contextlib.contextmanager
def show_warnings(*, quiet: bool) -> Iterator[None]:
    """Show warnings when they come, without the line of code that Python adds."""
    from sfumato.results.tables.protected_table import SlowTable

    with warnings.catch_warnings():
        warnings.simplefilter("always", SlowTable)
        warnings.showwarning = lambda message, *_, **__: tell(
            f"note: {escape(str(message))}", quiet=quiet
        )
        yield


def _show_sensitive(sensitive: SensitiveTable, *, json: bool) -> None:
    from sfumato.results.tables.rules import parameters_of

    cells, count = len(sensitive.unsafe), sensitive.count()
    if json:
        give_json({"cells": cells, "sensitive": len(sensitive), "by_rule": count})
        return
    out().print(f"{len(sensitive):,} of {cells:,} cells are sensitive", markup=False)
    for rule in sensitive.rules:
        name = rule.name.replace("_", " ")
        parameters = parameters_of(rule.said())
        out().print(f"  {name}: {count[rule.name]:,}  ({parameters})", markup=False)


def read_request(text: str) -> tuple[list[list[str]], str]:
    """The columns of every table, and the measure; a name in quotes is taken as it stands.

    >>> read_request("region × diagnosis: sum(cost)"), read_request("a x b; a*c: count")
    (([['region', 'diagnosis']], 'sum(cost)'), ([['a', 'b'], ['a', 'c']], 'count'))
    >>> read_request("'a x b' × c: sum('cost: net')")
    ([['a x b', 'c']], 'sum(cost: net)')
    """
    names: list[str] = []

    def replace_quoted(match: re.Match[str]) -> str:
        quote = match[0][0]
        names.append(match[0][1:-1].replace(quote * 2, quote))
        return f"\ue000{len(names) - 1}\ue001"

    # Quoted names may hold the signs that part columns: they are put aside before the text is cut.
    columns, colon, measure = QUOTED.sub(replace_quoted, text).rpartition(":")
    # Without a colon all of the text is in the last part: it names columns.
    if not colon:
        columns, measure = measure, "count"
    parts = [part.strip() for part in columns.split(";") if part.strip()]
    groups = [[_name(name, names) for name in TIMES.split(part)] for part in parts]
    if not groups or not all(all(group) for group in groups):
        raise ParameterError(
            "say what to tabulate: 'region × diagnosis: sum(cost)', with x or * for × if you like"
        )
    measure = measure.strip()
    summed = SUM.fullmatch(measure)
    if summed is not None:
        measure = f"sum({_name(summed[1], names)})"
    return groups, measure


def _name(text: str, quoted: list[str]) -> str:
    """A name as it was typed, out of its quotes."""
    text = text.strip()
    placeholder = PLACEHOLDER.fullmatch(text)
    if placeholder is not None:
        return quoted[int(placeholder[1])]
    if PLACEHOLDER.search(text) or text[:1] in ("'", '"'):
        raise ParameterError(
            "a quote must enclose a whole name and be closed: \"'a x b' × c: sum('cost: net')\"; "
            "write a quote inside a name twice"
        )
    return text


def _two_numbers(text: str, option: str) -> tuple[float, float]:
    try:
        first, second = map(float, text.split(","))
    except ValueError:
        raise ParameterError(
            f"{option} takes two numbers separated by a comma, such as 2,90"
        ) from None
    return first, second
