"""Protecting a table: what is published of it, and the audit without which nothing is."""

from __future__ import annotations

import dataclasses
import itertools
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
import polars as pl

from sfumato.core.block_html import Reportable
from sfumato.core.blocks import Block, Paragraph, VerdictBlock
from sfumato.core.fields import Document
from sfumato.core.options import CommandOption
from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import Seed
from sfumato.core.words import count_of, percent
from sfumato.errors import ParameterError, ReleaseRefused, SfumatoError, Unsatisfiable
from sfumato.results.tables.audit import TableAudit
from sfumato.results.tables.cells import decimals, escape_name
from sfumato.results.tables.changed_cells import (
    adjust_cells,
    audit_adjusted,
    audit_rounded,
    moved_further,
    random_rounded,
    round_cells,
    told_small,
)
from sfumato.results.tables.exact import (
    Suppression,
    suppress_exactly,
    with_hidden,
    without_needless,
)
from sfumato.results.tables.exchange_moves import Boxes
from sfumato.results.tables.heuristic import suppress_by_boxes, suppress_further
from sfumato.results.tables.joint_table import MOST_JOINT, JointTable, with_joint_table
from sfumato.results.tables.rules import Threshold

if TYPE_CHECKING:
    import altair as alt

    from sfumato.results.tables.arrays import Floats, Mask
    from sfumato.results.tables.audit import Move
    from sfumato.results.tables.problem import Problem
    from sfumato.results.tables.published_tables import Beside
    from sfumato.results.tables.table import SensitiveTable, Weight, Zeros

METHODS = ("auto", "exact", "heuristic", "rounding", "cta", "perturb")
Method = Literal["auto", "exact", "heuristic", "rounding", "cta", "perturb"]
EXACTLY = 30_000
"""Sensitive cells times cells up to which the least suppression is looked for by default."""
FEW_ROUNDS, FEW_NODES = 15, 500
"""How long the least suppression is looked for where nobody asked for it: rounds of cuts, and nodes
of the search in each.
"""
BY_PROGRAMS = 300_000
"""Sensitive cells times cells above which it is said that linear programs take long; a tenth where
lone respondents attack, each of whom asks for more.
"""
ALL_INTERVALS = 1500
"""Suppressed cells up to which the audit tells the tightest interval of every one."""
ALL_JOINT_INTERVALS = 10_000
"""Suppressed cells times cells of joint tables up to which it does."""
MOST_TRIED = 20_000
"""Cells of a table up to which the nearest one that can be published is looked for."""
MARK = "x"
"""What stands in place of a suppressed cell."""


class SlowTable(UserWarning):
    """Several tables together are so large that protecting them may take minutes or hours."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ProtectedTable(Reportable):
    """What may be published of a table, and what its owner keeps: how it was judged, and what an
    intruder can find out.

    ``published`` holds a value per variable, NaN where it is suppressed.
    """

    judged: SensitiveTable
    method: str
    problem: Problem
    published: Floats
    additive: bool
    suppression: Suppression | None
    options: Document
    moves: dict[int, list[Move]]
    audited: TableAudit
    joint: JointTable
    beside: Beside | None = None

    @property
    def hidden(self) -> Mask:
        """The variables that are suppressed."""
        return np.isnan(self.published)

    def audit(self) -> TableAudit:
        """Look again at what is published from the intruder's side; for the owner only, since it
        tells intervals of suppressed cells.

        Where tables were published before of the same records, and not all of them together hold,
        what they tell is the answer.
        """
        if (
            self.beside is not None
            and self.beside.earlier
            and not (earlier_audit := self.beside.audit(self.hidden)).holds
        ):
            return earlier_audit
        if self.suppression is not None:
            return self.joint.audit(
                self.hidden, exact=_all_intervals(self.joint, self.hidden), moves=self.moves
            )
        return _audit_changed(self.judged, self.method, self.joint, self.published, self.options)

    def summary(self) -> Document:
        """What can be told to anybody: counts, no value and no parameter that helps an intruder."""
        cells, hidden = len(self.published), self.hidden
        return {
            "method": self.method,
            "cells": cells,
            "sensitive_by_rule": self.judged.count(),
            "sensitive": len(self.judged),
            "suppressed": int(hidden.sum()),
            "suppressed_besides": int((hidden & ~self.problem.primary).sum()),
            "changed": int(
                (
                    ~hidden
                    & (
                        np.abs(np.nan_to_num(self.published) - self.problem.value)
                        > self.problem.slack
                    )
                ).sum()
            ),
            "additive": self.additive,
            "gap": None if self.suppression is None else self.suppression.gap,
            "audit": {"scope": self.audited.scope, "bounds": self.audited.bounds},
        }

    def to_polars(self, number: int = 0) -> pl.DataFrame:
        """One of the tables as it is published: cells as text, ``x`` where suppressed."""
        values = self.published[self.judged.table.variables[number]]
        texts = [
            MARK if np.isnan(value) else _text(value, whole=self.judged.table.whole)
            for value in values.tolist()
        ]
        return self.judged.table.with_values(number, texts)

    def plot(self) -> alt.LayerChart:
        """What is published, for tables of one or two columns: sensitive cells dark, those
        suppressed to protect them light.

        For the owner: the certificate does not say which is which.
        """
        from sfumato.results.tables.picture import table_drawing

        return table_drawing(self).chart()

    def write(
        self,
        folder: str | Path,
        *,
        force: bool = False,
        sign: Path | None = None,
        to: str | None = None,
    ) -> Path:
        """Write ``share/`` (table, certificate, page) and ``owner/`` (lock with parameters and
        intervals).

        A table with a register is written down in it; ``to`` says who receives it.
        """
        from sfumato.results.tables.table_files import publish

        return publish(self, Path(folder), force=force, sign=sign, to=to)

    def sentences(self) -> list[str]:
        """What a data steward reads."""
        return [*self.own_sentences, *([] if self.beside is None else self.beside.sentences)]

    @property
    def own_sentences(self) -> list[str]:
        """What is said of the table alone, without those published before."""
        summary = self.summary()
        head = f"{summary['sensitive']:,} of {summary['cells']:,} cells are sensitive; "
        if self.suppression is None:
            sums = "sums are exact" if self.additive else "sums may be inexact"
            return [
                head + f"{summary['changed']:,} cells were changed ({self.method}), {sums}",
                *self._audited(),
            ]
        share = summary["suppressed"] / max(1, summary["cells"])
        head += (
            f"{summary['suppressed']:,} are suppressed ({percent(share)}),"
            f" {summary['suppressed_besides']:,} of them to protect others"
        )
        return [f"{head}; {self._optimality()}", *self._audited()]

    def _optimality(self) -> str:
        """How near the suppression is to the least, as far as that was proved of all tables
        together.
        """
        gap = None if self.suppression is None else self.suppression.gap
        if gap is None and self.method == "heuristic":
            return "by the heuristic; the distance to the minimum is unknown"
        if gap is None:
            return "the distance to the minimum for all tables together is unknown"
        if gap < 1e-6:
            return "proved the least"
        return f"at most {percent(gap)} above the minimum"

    def _audited(self) -> list[str]:
        table_audit = self.audited
        if table_audit.holds:
            word = "the audit holds"
        else:
            word = f"the audit fails for {len(table_audit.exposed):,} cells"
        scope = "" if table_audit.scope == "one table" else f"{table_audit.scope}, "
        parts = [
            count_of(count, name)
            for count, name in (
                (table_audit.components, "component"),
                (table_audit.programs, "linear program"),
            )
        ]
        sentences = [
            (
                f"{word} ({scope}{table_audit.bounds} bounds): {', '.join(parts)},"
                f" {table_audit.seconds:.2f} s"
            )
        ]
        if self.unknown is None:
            return sentences
        return [*sentences, self.unknown]

    @property
    def unknown(self) -> str | None:
        """What was not looked at of tables published together, and what to do; None where all
        was.
        """
        if self.audited.scope != "each table by itself":
            return None
        return (
            "whether the tables hold together is unknown: their joint table has "
            f"{self.joint.left_out:,} cells, and at most {MOST_JOINT:,} cells that could hold "
            "somebody are audited; publish fewer tables at once, or coarser ones"
        )

    def __repr__(self) -> str:
        return str(self)

    def blocks(self) -> Sequence[Block]:
        """Whether the audit holds, what was suppressed or changed, and what is unknown."""
        opening, audit, *further_sentences = self.own_sentences
        beside = [] if self.beside is None else self.beside.sentences
        return [
            VerdictBlock(bool(self.audited.holds), audit, headline=True),
            Paragraph(opening),
            *(VerdictBlock(None, sentence) for sentence in further_sentences),
            *(Paragraph(sentence) for sentence in beside),
        ]


def _text(value: float, *, whole: bool) -> str:
    if whole or value == int(value):
        return str(round(value))
    return repr(value)


@dataclasses.dataclass(frozen=True)
class ProtectOptions:
    """How cells are protected, besides the method.

    ``zeros="free"`` lets empty cells be suppressed; by default everybody knows that they are empty.
    ``singles``: whether respondents who are alone in a cell attack with what they know of it (by
    default for sums). ``rounds`` bounds the search. A rounded cell is at most ``reach`` multiples
    away. ``slide``: intervals of sensitive cells must be as wide as so many times what the rules
    ask for on both sides, wherever they lie; ``prior``: an intruder knows every cell within so many
    percent before. Both go with suppression.
    """

    panel: ClassVar[str] = "How cells are protected"
    zeros: Zeros = "known"
    singles: bool | None = None
    rounds: int = 200
    reach: Annotated[int, CommandOption("rounding: at most so many multiples away")] = 1
    slide: Annotated[
        float,
        CommandOption(
            "width of a sensitive interval, in multiples of the required one, on both sides",
            minimum=0,
        ),
    ] = 0.0
    prior: Annotated[
        float | None,
        CommandOption("percent within which an intruder already knows cells", minimum=0),
    ] = None


def protect(
    sensitive_table: SensitiveTable,
    method: Annotated[
        str,
        CommandOption(
            "auto, exact, heuristic, rounding, cta or perturb", panel=ProtectOptions.panel
        ),
    ] = "auto",
    *,
    weight: Weight = "value",
    base: Annotated[
        int | None,
        CommandOption("rounding, perturb: multiples of this", panel=ProtectOptions.panel),
    ] = None,
    seed: Annotated[
        Seed | int | str | None,
        CommandOption("hexadecimal text, for perturb", typed=str, panel=ProtectOptions.panel),
    ] = None,
    options: ProtectOptions = ProtectOptions(),
    progress: Progress = silent,
) -> ProtectedTable:
    """Publish what can be published of a table; one that fails its own audit is refused.

    ``exact`` suppresses at the least cost (``weight``: value, one, log) and tells the gap,
    ``heuristic`` by boxes, ``auto`` the one that fits the size. ``rounding`` is controlled rounding
    to multiples of ``base``, ``perturb`` random rounding keyed by ``seed`` (counts only), ``cta``
    adjustment of sensitive cells. Where nothing can be published, the error names the nearest
    table that can.
    """
    values: Document = {"weight": weight, "base": base, **vars(options)}
    rounds = values.pop("rounds")
    _require_sense(values)
    try:
        return _protect_table(sensitive_table, method, values, rounds, seed, progress)
    except Unsatisfiable as error:
        # only now, since it protects every table of fewer columns
        alternative = nearest(sensitive_table, values)
        if alternative is None:
            raise
        words, cells = ", ".join(alternative["by"]), alternative["cells"]
        raise Unsatisfiable(
            f"{error}; the nearest possible table: {words} ({alternative['published']:,} of "
            f"{count_of(cells, 'cell')})",
            closest={**(error.closest or {}), "nearest": alternative},
        ) from None


def _require_sense(options: Document) -> None:
    """Numbers that mean something."""
    if (options["base"] is not None and options["base"] < 1) or options["reach"] < 1:
        raise ParameterError("base and reach of a rounding must be whole numbers from 1 on")
    for name in ("slide", "prior"):
        if options[name] is not None and not 0 <= options[name] < float("inf"):
            raise ParameterError(f"{name} must be a number from 0 on")


def nearest(sensitive_table: SensitiveTable, options: Document) -> Document | None:
    """The table of fewer columns of which the most cells can be published, of as many columns as
    possible; the total alone where none can.
    """
    table = sensitive_table.table
    if len(table.places) > 1 or len(sensitive_table.unsafe) > MOST_TRIED:
        return None
    columns = table.places[0]
    for count in range(len(columns) - 1, 0, -1):
        alternatives: list[Document] = []
        for axes in itertools.combinations(columns, count):
            # cells that were computed for all columns are not those of fewer
            smaller = dataclasses.replace(table, places=(axes,), known={})
            try:
                protected_table = _protect_table(
                    dataclasses.replace(sensitive_table, table=smaller),
                    "heuristic",
                    options,
                    FEW_ROUNDS,
                    None,
                    silent,
                )
            except SfumatoError:
                continue
            published_count = int((~protected_table.hidden).sum())
            by = [table.dimensions[at].column for at in axes]
            alternatives.append(
                {"by": by, "cells": len(protected_table.published), "published": published_count}
            )
        if alternatives:
            return max(alternatives, key=lambda alternative: int(alternative["published"]))
    if sensitive_table.unsafe[table.variables[0][0]] or table.memory is not None:
        return None
    return {"by": ["the total alone"], "cells": 1, "published": 1}


def _protect_table(
    sensitive_table: SensitiveTable,
    method: str,
    options: Document,
    rounds: int,
    seed: Seed | int | str | None,
    progress: Progress,
) -> ProtectedTable:
    if method not in METHODS:
        raise ParameterError(f"a table is protected by one of {', '.join(METHODS)}; choose one")
    sensitive_table.require_some_safe()
    problem_options = {
        name: options[name] for name in ("weight", "zeros", "singles", "slide", "prior")
    }
    problem = sensitive_table.problem(**problem_options)
    joint = with_joint_table(sensitive_table.table, problem)
    if method in ("rounding", "cta", "perturb"):
        if options["slide"] or options["prior"] is not None:
            raise ParameterError(
                f"slide and prior belong to suppression, not to {method}; leave them out"
            )
        return _change_cells(sensitive_table, method, joint, options, Seed.of(seed))
    method_used = method
    if method == "auto":
        if len(sensitive_table) * joint.problem.size <= EXACTLY:
            method_used = "exact"
        else:
            method_used = "heuristic"
    # who asks for the least gets all rounds; where it is only tried, a short search must do
    if method == "exact":
        effort = {"rounds": rounds}
    else:
        effort = {"rounds": min(rounds, FEW_ROUNDS), "nodes": FEW_NODES}
    suppression, moves, method_used = _suppress_cells(
        sensitive_table, method_used, joint, effort, progress
    )
    without_total = sensitive_table.problem(**problem_options, total_known=False)
    suppression, beside = _with_earlier(
        sensitive_table,
        without_total,
        without_needless(problem, suppression),
        rounds,
        options["singles"],
    )
    if beside is not None and beside.added is not None:
        method_used = beside.added
    settled = beside is not None and bool(beside.earlier)
    # a suppressed grand total bounds nothing any more, so the audit must not take it for known
    if settled and suppression.hidden[int(np.argmax(problem.value))]:
        problem = without_total
        joint = with_joint_table(sensitive_table.table, problem, joint.values)
    suppression, table_audit = _audit_suppression(joint, suppression, moves, settled=settled)
    if table_audit.scope == "each table by itself":
        # the least of the parts is not proved the least of all
        suppression = dataclasses.replace(suppression, bound=None)
    published = np.where(suppression.hidden, np.nan, problem.value)
    if not table_audit.holds:
        raise ReleaseRefused(
            f"the audit fails for {len({exposure.cell for exposure in table_audit.exposed}):,}"
            " cells, so nothing is published; make the table coarser"
        )
    _require_something(published, problem)
    return ProtectedTable(
        sensitive_table,
        method_used,
        problem,
        published,
        True,
        suppression,
        options,
        moves,
        table_audit,
        joint,
        beside,
    )


def _with_earlier(
    sensitive_table: SensitiveTable,
    problem: Problem,
    suppression: Suppression,
    rounds: int,
    singles: bool | None,
) -> tuple[Suppression, Beside | None]:
    """What must be suppressed besides because of tables that were published of the same records
    before.
    """
    memory = sensitive_table.table.memory
    if memory is None:
        return suppression, None
    from sfumato.results.tables.published_tables import Beside, put_beside

    earlier, unknown = memory.earlier(sensitive_table)
    if not earlier:
        return suppression, Beside(problem, problem.size, (), {}, unknown)
    alone = sensitive_table.table.attacked_by_singles(singles)
    joint = put_beside(sensitive_table, problem, memory, earlier, singles=alone)
    say_if_long(joint.problem, "tables beside earlier ones")
    given_away, between = {}, {}
    for earlier_table in earlier:
        # each earlier table alone with the new one: the report says which of them gives cells away
        if len(earlier) == 1:
            pair = joint
        else:
            pair = put_beside(sensitive_table, problem, memory, [earlier_table], singles=alone)
        given_away[earlier_table.entry.number], between[earlier_table.entry.number] = pair.exposed(
            suppression.hidden
        )
    beside = dataclasses.replace(joint, given_away=given_away, unknown=unknown, between=between)
    if beside.audit(suppression.hidden).holds:
        return suppression, beside
    try:
        hidden, bound = _together(beside, suppression, rounds)
    except Unsatisfiable as error:
        raise _already_told(beside, error) from None
    beside = dataclasses.replace(beside, added="heuristic" if bound is None else "exact")
    return with_hidden(problem, dataclasses.replace(suppression, bound=bound), hidden), beside


def _together(beside: Beside, suppression: Suppression, rounds: int) -> tuple[Mask, float | None]:
    """Cells of the new table to suppress so that all tables together hold, and the least that any
    such cost where it can be proved; else more than alone.
    """
    joint = beside.problem
    if int(joint.primary.sum()) * joint.size <= EXACTLY:
        exact_suppression = suppress_exactly(joint, rounds=rounds)
        if exact_suppression is not None:
            return without_needless(joint, exact_suppression).hidden[
                : beside.size
            ], exact_suppression.bound
    hidden_cells = suppress_further(joint, beside.hidden(suppression.hidden))
    return hidden_cells[: beside.size], None


def _already_told(beside: Beside, error: Unsatisfiable) -> Unsatisfiable:
    """Why a table cannot be published after others."""
    table_names = [
        f"table {number} ({beside.words(number)})"
        for number, count in beside.given_away.items()
        if count
    ]
    return Unsatisfiable(
        f"{error}; that is together with earlier tables of the same records: "
        f"{', '.join(table_names) or 'all tables together'}; tabulate by the same columns and "
        "records as before, by coarser ones, or records that are in no earlier table",
        closest={**(error.closest or {}), "given_away": dict(beside.given_away)},
    )


def _audit_suppression(
    joint: JointTable, suppression: Suppression, moves: dict[int, list[Move]], *, settled: bool
) -> tuple[Suppression, TableAudit]:
    """The audit, after cells that it finds to be told anyway, and that may be, were published; a
    settled suppression stays as it is.
    """
    problem, exact = joint.problem, _all_intervals(joint, suppression.hidden)
    table_audit = joint.audit(suppression.hidden, exact=exact, moves=moves)
    derivable = table_audit.hidden[
        (table_audit.high - table_audit.low <= problem.slack) & ~problem.unknown[table_audit.hidden]
    ]
    # an interval that may be wider than told proves nothing to be derivable
    if settled or not table_audit.exact or not len(derivable):
        return suppression, table_audit
    hidden = suppression.hidden.copy()
    hidden[derivable] = False
    cost = float(problem.weight[: joint.size][hidden].sum())
    if suppression.bound is None:
        bound = None
    else:
        bound = min(cost, suppression.bound)
    suppression = dataclasses.replace(suppression, hidden=hidden, cost=cost, bound=bound)
    return suppression, joint.audit(hidden, exact=True, moves=moves)


def _all_intervals(joint: JointTable, hidden: Mask) -> bool:
    """Whether the tightest interval of every suppressed cell is looked for."""
    count = int(hidden.sum())
    return (
        count <= ALL_INTERVALS and count * (joint.problem.size - joint.size) <= ALL_JOINT_INTERVALS
    )


def _require_something(published: Floats, problem: Problem) -> None:
    if not (~np.isnan(published) & problem.free).any():
        raise Unsatisfiable(
            "every nonempty cell would have to be suppressed, so nothing can be published; make "
            "the table coarser, or weaken the rules",
            closest={"cells": problem.size, "sensitive": int(problem.primary.sum())},
        )


def _suppress_cells(
    sensitive_table: SensitiveTable,
    method: str,
    joint: JointTable,
    effort: dict[str, int],
    progress: Progress,
) -> tuple[Suppression, dict[int, list[Move]], str]:
    """Published cells to suppress, proofs, and how they were found: by the heuristic too where the
    least was not found in time.
    """
    problem = joint.problem
    moves: dict[int, list[Move]] = {}
    if not problem.primary.any():
        return Suppression(problem.primary[: joint.size].copy(), 0.0, 0.0), {}, method
    single = len(sensitive_table.table.places) == 1
    if not single:
        say_if_long(problem, "linked tables")
    suppression = None
    if method == "exact":
        suppression = suppress_exactly(problem, **effort)
    if suppression is None:
        # boxes keep the sums of one table; several tables share cells, and need programs over all
        boxes = None
        if single:
            boxes = Boxes(problem, sensitive_table.cells[0], sensitive_table.table.variables[0])
        suppression, moves, _ = suppress_by_boxes(problem, boxes, progress=progress)
        method = "heuristic"
    return dataclasses.replace(suppression, hidden=suppression.hidden[: joint.size]), moves, method


def say_if_long(problem: Problem, task: str) -> None:
    """Warn before linear programs that take minutes or hours: there are no boxes over several
    tables, and every sensitive cell asks for programs over all cells.
    """
    sensitive, work = int(problem.primary.sum()), int(problem.primary.sum()) * problem.size
    if work > BY_PROGRAMS / (10 if problem.owned else 1):
        warnings.warn(
            f"{task} use linear programs, for each of {sensitive:,} sensitive cells over all "
            f"{problem.size:,} unknowns, and may take minutes or hours. That is for some thousand "
            "cells; coarser columns or fewer tables take less, and a single table without a "
            "register needs none",
            SlowTable,
            stacklevel=2,
        )


def _change_cells(
    sensitive_table: SensitiveTable,
    method: str,
    joint: JointTable,
    options: Document,
    seed: Seed,
) -> ProtectedTable:
    problem = joint.own
    base = options["base"] or _base(sensitive_table)
    options = {**options, "base": base, "seed": seed}
    beside = _none_before(sensitive_table, method, problem)
    if method != "cta" and not sensitive_table.table.whole:
        raise ParameterError(f"{method} is for counts; protect sums by suppression or cta")
    if method != "cta":
        _refuse_small_base(sensitive_table, method, problem, options)
    # a table rounded cell by cell may not add up
    additive = method != "perturb"
    if method == "rounding":
        published = round_cells(problem, base, reach=options["reach"])
    elif method == "perturb":
        published = random_rounded(problem.value, base, seed, names_of(sensitive_table))
    else:
        published = _adjust_cells(sensitive_table, joint.problem, seed)[: joint.size]
    table_audit = _audit_changed(sensitive_table, method, joint, published, options)
    if not table_audit.holds:
        raise ReleaseRefused(
            f"{method}: the audit estimates {len(table_audit.exposed):,} sensitive cells too "
            "closely, so nothing is published; "
            f"{'' if method == 'cta' else 'choose a larger base, or '}suppress instead"
        )
    return ProtectedTable(
        sensitive_table,
        method,
        problem,
        published,
        additive,
        None,
        options,
        {},
        table_audit,
        joint,
        beside,
    )


def _none_before(sensitive_table: SensitiveTable, method: str, problem: Problem) -> Beside | None:
    """A table whose cells are changed may be the first of its records in a register; beside earlier
    ones it cannot be audited.
    """
    memory = sensitive_table.table.memory
    if memory is None:
        return None
    from sfumato.results.tables.published_tables import Beside

    earlier, unknown = memory.earlier(sensitive_table)
    if earlier:
        numbers = ", ".join(str(earlier_table.entry.number) for earlier_table in earlier)
        raise ParameterError(
            f"the register has tables of the same records ({numbers}), and {method} cannot be"
            " audited beside them; protect this one by suppression (--method auto)"
        )
    return Beside(problem, problem.size, (), unknown=unknown)


def _adjust_cells(sensitive_table: SensitiveTable, problem: Problem, seed: Seed) -> Floats:
    """Sensitive cells moved, in numbers of as many decimal places as contributions have."""
    table = sensitive_table.table
    threshold = _threshold(sensitive_table) if table.counted else None
    amounts_given = table.contributions.amount
    further = moved_further(problem, seed, threshold)
    return adjust_cells(
        further,
        threshold=threshold,
        decimal_places=decimals(amounts_given[~np.isnan(amounts_given)]),
    )[0]


def _refuse_small_base(
    sensitive_table: SensitiveTable, method: str, problem: Problem, options: Document
) -> None:
    """Refuse a base so small beside the threshold that counts are told to be small, before anything
    is computed.
    """
    reach = options["reach"] if method == "rounding" else 1
    threshold = _threshold(sensitive_table)
    if threshold is None or not (count := told_small(problem, options["base"], reach, threshold)):
        return
    # 2 · base · reach − 1 is then the threshold at least
    smallest_base = (threshold + 2 * reach) // (2 * reach)
    raise ReleaseRefused(
        f"{method}: {count:,} sensitive cells would always be recognisable as small: a multiple of "
        f"{options['base']:g} reveals them within {options['base'] * reach - 1:g}, and the "
        f"threshold is {threshold}; choose a base of {smallest_base} or more, or a lower threshold"
    )


def _base(sensitive_table: SensitiveTable) -> int:
    """The base of a rounding where none is given: the largest threshold, since then no small count
    is told.
    """
    return _threshold(sensitive_table) or 5


def _threshold(sensitive_table: SensitiveTable) -> int | None:
    """The largest threshold among the rules."""
    return max(
        (rule.t for rule in sensitive_table.rules if isinstance(rule, Threshold)), default=None
    )


def names_of(sensitive_table: SensitiveTable) -> list[str]:
    """A name for every variable that does not depend on the table it stands in: its columns and
    labels, totals left out.
    """
    table = sensitive_table.table
    names: list[list[str]] = []
    for group in table.places:
        dimensions = [table.dimensions[at] for at in group]
        # a label may hold the signs that join names: escaped, no two variables share a name
        labels: list[list[str]] = []
        for d in dimensions:
            column = escape_name(d.column, "=")
            titles = [f"{column}={escape_name(label)}" for label in d.labels]
            for node, same in enumerate(d.same):
                if same == d.root:
                    titles[node] = ""
            labels.append(titles)
        grids = np.unravel_index(
            np.arange(int(np.prod([d.size for d in dimensions]))), [d.size for d in dimensions]
        )
        names.append(
            [
                "|".join(sorted(filter(None, parts)))
                for parts in zip(
                    *([lab[i] for i in at] for lab, at in zip(labels, grids, strict=True)),
                    strict=True,
                )
            ]
        )
    return [
        str(name) for name in table.of_variables([np.array(name, dtype=object) for name in names])
    ]


def _audit_changed(
    sensitive_table: SensitiveTable,
    method: str,
    joint: JointTable,
    published: Floats,
    options: Document,
) -> TableAudit:
    """Look at a changed table from the intruder's side, who knows the method and its base."""
    threshold = _threshold(sensitive_table)
    if method == "cta":
        table_audit = audit_adjusted(
            joint.problem, published, threshold if sensitive_table.table.counted else None
        )
        return joint.of_published(table_audit)
    # what anybody who knows the method can compute: published ± what a cell can be off
    reach = options["base"] * (options["reach"] if method == "rounding" else 1) - 1
    return joint.of_published(
        audit_rounded(joint.problem, published - reach, published + reach, threshold)
    )
