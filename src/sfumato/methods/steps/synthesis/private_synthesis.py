"""Tables drawn from noisy counts: synthetic data with a proof."""

from __future__ import annotations

import dataclasses
import functools
import secrets
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from sfumato.core.budget import SAFETY, PrivacyLoss, epsilon_of_rho, rho_of_budget
from sfumato.core.declared import ROW, Relation, declared, require_declared
from sfumato.core.fields import Document
from sfumato.core.ledger import Ledger
from sfumato.core.parameters import COLUMNS, FILE, parameters
from sfumato.core.randomness import canonical_order
from sfumato.core.schema import Schema
from sfumato.core.step import ONE_RECORD, Account, Declaration, Effect, Goal, Step, Synthetic
from sfumato.core.table import NOBODY
from sfumato.core.words import count_of
from sfumato.errors import ParameterError, SchemaError, require
from sfumato.methods.formulas.exact_draws import Draws
from sfumato.methods.steps.masking.masking_fields import Names, require_table
from sfumato.methods.steps.privacy_claims import facts, warnings
from sfumato.methods.steps.synthesis import aim, mst
from sfumato.methods.steps.synthesis.cells import (
    Cells,
    NumberCells,
    Public,
    WordCells,
    cells_of,
    code_rows,
    drawn_columns,
)
from sfumato.methods.steps.synthesis.model_fits import ModelWorker, require_fitting
from sfumato.methods.steps.synthesis.noisy_counts import NoisyMarginal, PrivateTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Ints = NDArray[np.int64]

USUAL_BINS = 20


@dataclasses.dataclass(frozen=True, eq=False)
class DrawnCells:
    """What came of it: cells by column, the noisy number of rows, and what was measured on the
    way.
    """

    cells: Mapping[str, Ints]
    total: float
    measured: tuple[NoisyMarginal, ...]
    rounds: int | None = None
    drowned: tuple[str, ...] = ()


@parameters
class SynthesizePrivately(Step):
    r"""Draw a table from a model of noisy counts: (ε, δ)-differentially private, whoever knows
    whatever else.

    Counts of the cells of a few columns together (marginals) are measured with discrete Gaussian
    noise, which of them is chosen by the exponential mechanism, a graphical model is fitted to the
    noisy counts, and rows are drawn from it. Only counts and choices look at the data; the rest is
    post-processing, and runs in a process that is never given any.

    ``mst`` measures every column and a tree of pairs: fast, and right about pairs that matter.
    ``aim`` measures, in rounds, whatever of the ``workload`` (all pairs, or all combinations of so
    many columns, or the named ones) the model gets most wrong, as long as the model has at most
    ``model_mb`` megabytes: better, and several times slower.

    With ρ of zero-concentrated privacy and neighbours that differ by one unit of at most g rows: a
    marginal with noise of
    :math:`\sigma = g/\sqrt{2\rho_i}` costs :math:`\rho_i`, a choice
    by :math:`P \propto e^{\varepsilon_i q/(2 g w)}` costs
    :math:`\varepsilon_i^2/8`; they add up to the largest ρ with

    .. math:: \delta \ge \min_{\alpha > 1}
        \frac{e^{(\alpha - 1)(\alpha\rho - \varepsilon)}}{\alpha - 1} \left(1 -
        \frac{1}{\alpha}\right)^{\alpha}

    (:func:`sfumato.core.budget.rho_of_budget`). MST spends thirds on columns, choices and pairs;
    AIM plans for ``rounds`` equal rounds, 9 to 1 between counts and choice, and makes the last ones
    larger where little is left to learn.

    **Everything about the columns is public**: ``domain`` (words) or ``bounds`` (numbers) of every
    column, in the schema; the leaves of a hierarchy count as a domain where ``leaves`` names the
    column. A column without is refused before anything is spent. Numbers are cut off at their
    bounds and counted in ``bins`` runs of the grid with so many ``decimals``; drawn ones lie
    anywhere in their run. Words outside the domain and missing values raise no error, which
    would tell: they are a cell of their own, released as missing, or count as what ``other`` says
    of the column. The number of rows is not public either: as many are drawn as the noisy total
    says, or ``records``.

    A unit is a row; in a table with a column of persons it is a person, of whose rows
    ``rows_per_person`` count, picked at random. Columns of units and direct identifiers are not
    drawn. ``holdout`` sets units aside by independent coins, for attacks.

    ``ledger`` names a file, started by a session for questions, from which ρ is spent before
    anything is looked at: a table and answers about the same people add up there. Noise comes from
    OpenDP (extra ``dp``), models from ``mbi`` (extra ``synthetic``); with a seed for rehearsals
    nothing is certified.

    Against the papers: scores and counts are whole numbers (no floating-point leak); values merged
    by MST have the weight their noise deserves; AIM plans for 2 rounds a column where the paper has
    16.

    References: McKenna, Miklau & Sheldon 2021, doi:10.29012/jpc.778; McKenna, Mullins, Sheldon &
    Miklau 2022, doi:10.14778/3551793.3551817; Canonne, Kamath & Steinke 2020, arXiv:2004.00010.

    >>> step = SynthesizePrivately(epsilon=1.0, delta=1e-9)
    >>> round(float(step.rho), 8)
    0.01497306
    >>> import polars as pl
    >>> from sfumato.core.table import Table
    >>> step.plan(Table(pl.DataFrame({"sex": ["f", "m"]})).with_roles(quasi=["sex"]), Goal())
    Traceback (most recent call last):
    ...
    sfumato.errors.SchemaError: synthesize_privately: column 'sex' has no public domain: add
    'domain: [a, b]' (or 'bounds: [lowest, highest]' for numbers)
    to its description, from public knowledge and not from the data
    """

    epsilon: Annotated[
        float, Field(gt=0, le=1000, allow_inf_nan=False, description="ε of the whole table")
    ]
    delta: Annotated[
        float, Field(ge=1e-100, lt=1, description="δ: much less than one over the number of people")
    ]
    method: Annotated[Literal["mst", "aim"], Field(description="which marginals are measured")] = (
        "mst"
    )
    records: Annotated[
        int | None, Field(ge=1, description="rows to create; by default the noisy total")
    ] = None
    rows_per_person: Annotated[
        int | None,
        Field(
            ge=1,
            le=10_000,
            description="rows of one person that count, if a column names persons",
        ),
    ] = None
    bins: Annotated[
        int | dict[str, Annotated[int, Field(ge=1, le=10_000)]],
        Field(description="bins of numeric columns; one number for all, or by column"),
    ] = USUAL_BINS
    decimals: Annotated[
        dict[str, Annotated[int, Field(ge=0, le=12)]],
        COLUMNS,
        Field(description="decimals of numeric columns"),
    ] = Field(default_factory=dict)
    other: Annotated[
        dict[str, str | int | float],
        COLUMNS,
        Field(
            description=(
                "by column, what missing and undeclared values count as; else they are released as"
                " missing"
            )
        ),
    ] = Field(default_factory=dict)
    leaves: Annotated[
        Names | None,
        Field(
            description=(
                "columns whose domain is the leaves of their hierarchy, written without the data"
            )
        ),
    ] = None
    workload: Annotated[
        int | list[Names] | None,
        Field(description="aim: how many columns together must be right, or which; 2 by default"),
    ] = None
    rounds: Annotated[
        int | None,
        Field(ge=2, description="aim: marginals that ρ is planned for; 2 per column by default"),
    ] = None
    model_mb: Annotated[
        float | None,
        Field(
            gt=0,
            le=100_000,
            allow_inf_nan=False,
            description="aim: largest model, in MB; 8 by default",
        ),
    ] = None
    holdout: Annotated[
        float, Field(ge=0, lt=1, description="share of units set aside before anything is counted")
    ] = 0.0
    ledger: Annotated[
        str | None, FILE, Field(min_length=1, description="ledger that pays for the loss")
    ] = None
    seconds: Annotated[
        float | None,
        Field(
            gt=0,
            allow_inf_nan=False,
            description="most seconds for fitting; then it ends with an error",
        ),
    ] = None

    name: ClassVar[str] = "synthesize_privately"
    accounting: ClassVar[Declaration] = Declaration(Effect.ACCOUNTED, "(ε, δ) for all columns")
    replayable: ClassVar[bool] = False
    secret: ClassVar[tuple[str, ...]] = ("ledger",)

    def __post_init__(self) -> None:
        # A parameter that the method ignores would look as if it had been kept.
        for field in ("workload", "rounds", "model_mb"):
            if getattr(self, field) is not None and self.method != "aim":
                raise ParameterError(
                    f"SynthesizePrivately: {field} is for aim, not for {self.method}; leave it out"
                )
        if isinstance(self.bins, int) and not 1 <= self.bins <= 10_000:
            raise ParameterError("SynthesizePrivately: bins must lie between 1 and 10000")
        if self.workload in (0, []) or (isinstance(self.workload, int) and self.workload < 1):
            raise ParameterError(
                "SynthesizePrivately: workload must be a number of columns from 1, or "
                "lists of columns"
            )

    @property
    def rho(self) -> Fraction:
        """The ρ that is spent: the largest within (ε, δ)."""
        return Fraction(_rho_of(self.epsilon, self.delta))

    @property
    def draws_anew(self) -> bool:
        """Its rows are nobody's."""
        return True

    def account(self, schema: Schema) -> Account:
        """ε and δ for everything that is released."""
        # Replacing one unit is removing one and adding another: twice the change, four times ρ.
        replaced = (epsilon_of_rho(4 * float(self.rho), self.delta), self.delta)
        unit = self._relation(schema)
        return Account(
            Effect.ACCOUNTED,
            columns=None,
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours="add_remove",
            replaced=replaced,
            unit=_words_of(unit),
        )

    def plan(self, dataset: Table, goal: Goal) -> Synthetic:
        """Refuse what cannot be done, spend, measure, fit and draw."""
        cells = self._cells(dataset)
        relation = self._relation(dataset.schema, required=True)
        draws = Draws.of(goal, self.name)
        # All refusals come before anything is spent or looked at.
        self._require(dataset, cells, draws)
        self._spend(relation, draws)
        # Who is set aside and which rows count is decided by draws, not by values.
        training_rows, held_out = self._split_rows(dataset, relation, draws)
        sizes = {name: column_cells.size for name, column_cells in cells.items()}
        table = PrivateTable(
            code_rows(dataset, cells, training_rows),
            sizes,
            rho=self.rho,
            rows=relation.contributions,
            draws=draws,
        )
        draws_made = self._draw_cells(table, draws, goal)
        values = self._values(cells, draws_made, draws)
        return Synthetic(
            actions=dict.fromkeys(values.columns, f"synthetic from noisy counts ({self.method})"),
            table=values,
            origin=np.full(len(values), NOBODY, dtype=np.int64),
            held_out=held_out,
            warnings=(*warnings(draws, self.name), *self._warnings(draws_made, dataset.schema)),
            public=self._public_facts(draws, relation, draws_made, len(values)),
            owner={"spent": table.spent()},
        )

    def apply(self, dataset: Table, plan: Synthetic) -> Table:
        """Release the drawn rows."""
        return plan.applied(dataset)

    def released_schema(self, schema: Schema, columns: Sequence[str]) -> Schema:
        """What a released table is: columns of units are not drawn."""
        return schema.without([name for name in schema.units if name not in columns])

    def _cells(self, dataset: Table) -> dict[str, Cells]:
        names = drawn_columns(dataset.schema, dataset.columns)
        bins = self.bins if isinstance(self.bins, dict) else {}
        usual = self.bins if isinstance(self.bins, int) else USUAL_BINS
        required = [*bins, *self.decimals, *self.other, *(self.leaves or ())]
        require_table(dataset, self.name, required)
        if not names:
            raise SchemaError(f"{self.name}: there is no column to draw")
        public = Public(
            bins, usual, decimals=self.decimals, other=self.other, leaves=self.leaves or ()
        )
        return cells_of(dataset.schema, names, public, self.name)

    def _relation(self, schema: Schema, *, required: bool = False) -> Relation:
        """Whom ε is about: a row, or a person with so many rows."""
        person = schema.person
        # Without a limit one person could change counts by any number of rows.
        if required and (person is None) != (self.rows_per_person is None):
            raise SchemaError(
                f"{self.name}: column {person!r} names persons; give rows_per_person, how many "
                "rows of one person count"
                if person is not None
                else (f"{self.name}: rows_per_person needs a column with role person")
            )
        if person:
            return Relation(person or ROW, "add_remove", self.rows_per_person or 1)
        return Relation()

    def _require(self, dataset: Table, cells: Mapping[str, Cells], draws: Draws) -> None:
        """Everything that can be wrong, before anything is spent."""
        domains = {}
        for name, column_cells in cells.items():
            if isinstance(column_cells, WordCells):
                domains[name] = column_cells.domain
        bounds = {}
        for name, column_cells in cells.items():
            if isinstance(column_cells, NumberCells):
                bounds[name] = (column_cells.low, column_cells.high)
        # Types of the columns are checked without looking at values.
        require_declared(dataset, declared(Schema({}), bounds=bounds, domains=domains))
        if self.method == "aim":
            self._require_workload(list(cells))
        require_fitting()
        if draws.secure:
            require("opendp.prelude", extra="dp", to="draw noise that hides a person")

    def _require_workload(self, names: Sequence[str]) -> None:
        if isinstance(self.workload, list):
            workload_names = set(chain.from_iterable(self.workload))
        else:
            workload_names = set()
        if unknown := sorted(workload_names - set(names)):
            raise SchemaError(
                f"{self.name}: workload names {unknown[0]!r}, which is not synthesised; remove it"
            )
        if self._rounds(len(names)) <= len(names):
            raise ParameterError(
                f"{self.name}: rounds = {self.rounds} is too few: {len(names)} go to single "
                "columns, and one more is needed"
            )
        aim.closure_of(aim.workload_of(names, self.workload or 2))

    def _rounds(self, columns: int) -> int:
        if self.rounds is None:
            return max(2, aim.USUAL_ROUNDS * columns)
        return self.rounds

    def _spend(self, relation: Relation, draws: Draws) -> None:
        """Write ρ into the ledger, or be refused by it."""
        if self.ledger is None:
            return
        # A rehearsal protects nobody: writing it down would only use up the budget.
        if not draws.secure:
            raise ParameterError(
                f"{self.name}: a rehearsal spends nothing from a ledger; leave out the seed, or the"
                " ledger"
            )
        if not Path(self.ledger).exists():
            raise ParameterError(
                f"{self.name}: ledger {self.ledger} does not exist; start it with its total: "
                f"sfumato query … --ledger {self.ledger} --budget …"
            )
        # Held while it is written: two runs cannot spend the same remainder.
        with Ledger.at(self.ledger).hold() as book:
            if book.terms.relation != relation:
                raise ParameterError(
                    f"{self.name}: the ledger {self.ledger} is about {book.terms.relation.words},"
                    f" this table about {relation.words}"
                )
            text = f"{self.name}: {self.method}, ε = {self.epsilon:g}, δ = {self.delta:g}"
            book.spend({secrets.token_hex(16): (text, PrivacyLoss(rho=self.rho))})

    def _split_rows(
        self, dataset: Table, relation: Relation, draws: Draws
    ) -> tuple[NDArray[np.bool_], Ints | None]:
        """Per row whether it counts, and the rows that are set aside; what becomes of a unit does
        not depend on the others.
        """
        # In rehearsals the result must not depend on the order of rows.
        if not draws.secure:
            order = canonical_order(dataset)
        else:
            order = np.arange(len(dataset))
        units = np.arange(len(dataset))
        counts = np.ones(len(dataset), dtype=np.bool_)
        if relation.protects != ROW:
            encoded = dataset.encoded(relation.protects)
            units = encoded.codes.astype(np.int64)
            counts = _first_of(
                units, order[draws.permutation(len(dataset))], relation.contributions
            )
            # Rows without a person belong to nobody whose rows could be limited: they are left out.
            nobody = np.array([label is None for label in encoded.labels], dtype=np.bool_)
            counts &= ~nobody[units]
        if not self.holdout:
            return counts, None
        # One coin a unit: all rows of a person are set aside together.
        first = np.unique(units[order], return_index=True)[1]
        unit_count = int(units.max(initial=-1)) + 1
        aside = np.zeros(unit_count, dtype=np.bool_)
        aside[units[order][np.sort(first)]] = draws.kept(len(first), self.holdout)
        used = counts & ~aside[units]
        aside_rows = np.flatnonzero(aside[units])
        return used, aside_rows.astype(np.int64)

    def _draw_cells(self, table: PrivateTable, draws: Draws, goal: Goal) -> DrawnCells:
        if self.method == "aim":
            return self._by_aim(table, draws, goal)
        tree = mst.choose_and_measure(table)
        goal.progress(0.3, "MST, fitting")
        # In a process of its own, which sees noisy counts only.
        with ModelWorker(dict(tree.sizes), seconds=self.seconds) as fitter:
            fitter.fit(tree.measured, tree.total)
            cells = fitter.draw(self._rows(tree.total), draws.seed())
        rng = np.random.default_rng(draws.seed())
        parted = {
            name: tree.merging[name].parted(merged_cells, rng)
            for name, merged_cells in cells.items()
        }
        # All values of a column merged into one cell: its noise was larger than any count.
        drowned = tuple(
            name
            for name, merged_cells in tree.merging.items()
            if merged_cells.size == 1 and len(merged_cells.cell) > 1
        )
        return DrawnCells(parted, tree.total, tree.measured, drowned=drowned)

    def _by_aim(self, table: PrivateTable, draws: Draws, goal: Goal) -> DrawnCells:
        with ModelWorker(table.sizes, seconds=self.seconds) as fitter:
            workload = aim.workload_of(table.columns, self.workload or 2)
            rounds = aim.choose_and_measure(
                table,
                fitter,
                workload=workload,
                rounds=self._rounds(len(table.columns)),
                model_mb=self.model_mb or 8.0,
                progress=goal.progress,
            )
            cells = fitter.draw(self._rows(rounds.total), draws.seed())
        return DrawnCells(cells, rounds.total, rounds.measured, rounds.rounds)

    def _rows(self, total: float) -> int:
        return self.records or max(1, round(total))

    def _values(
        self, cells: Mapping[str, Cells], draws_made: DrawnCells, draws: Draws
    ) -> pl.DataFrame:
        rng = np.random.default_rng(draws.seed())
        columns = [
            column_cells.values(draws_made.cells[name], rng) for name, column_cells in cells.items()
        ]
        return pl.DataFrame(columns)

    def _warnings(self, draws_made: DrawnCells, schema: Schema) -> Iterator[str]:
        if draws_made.drowned:
            yield (
                f"{self.name}: noise hides all values of {', '.join(draws_made.drowned[:5])}, so "
                "they are drawn evenly; raise ε, or declare fewer values or bins"
            )
        units = schema.units
        if units:
            yield (
                f"{self.name}: {', '.join(units)} is not synthesised: rows of the release belong "
                "to no person and to no household"
            )

    def _public_facts(
        self, draws: Draws, relation: Relation, draws_made: DrawnCells, rows: int
    ) -> Document:
        public_facts = facts(
            draws,
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours=f"add_remove: tables that differ by {_words_of(relation)} more or less",
            assumptions=[
                "domains, bounds, bins and the choice of columns do not depend on the data",
                "the number of original records stays secret",
            ],
        )
        measurements = [
            {"columns": list(measurement.clique), "sigma": measurement.sigma}
            for measurement in draws_made.measured
        ]
        own_facts = {
            "method": self.method,
            "unit_of_privacy": _words_of(relation),
            "rho": float(self.rho),
            "measured": measurements,
            "noisy_total": draws_made.total,
            "rows_drawn": rows,
            **({} if draws_made.rounds is None else {"rounds": draws_made.rounds}),
        }
        return public_facts | own_facts


@functools.lru_cache(maxsize=64)
def _rho_of(epsilon: float, delta: float) -> float:
    # A little less than asked for, so that rounding on the way stays within (ε, δ).
    return rho_of_budget(epsilon * (1 - SAFETY), delta)


def _words_of(relation: Relation) -> str:
    """The unit of privacy in words."""
    if relation.protects == ROW:
        return ONE_RECORD
    rows_per_person = relation.contributions
    return f"one person (at most {count_of(rows_per_person, 'row')} of each count)"


def _first_of(units: Ints, order: Ints, rows_per_person: int) -> NDArray[np.bool_]:
    """Per row whether it is one of the first so many of its unit, in this order."""
    # Sorted by unit, in the given order within: rows are numbered from where their unit begins.
    by_unit = order[np.argsort(units[order], kind="stable")]
    starts = np.flatnonzero(np.diff(units[by_unit], prepend=-1))
    position = np.arange(len(units)) - np.repeat(starts, np.diff(starts, append=len(units)))
    counts = np.empty(len(units), dtype=np.bool_)
    counts[by_unit] = position < rows_per_person
    return counts
