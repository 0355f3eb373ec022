"""Questions to a table under a budget: the only thing that leaves it are noisy answers."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from sfumato.core.budget import Budget, PrivacyLoss
from sfumato.core.declared import ROW, DeclaredTable, Relation, declared, require_declared
from sfumato.core.fields import Document, Fields
from sfumato.core.ledger import Ledger, Terms
from sfumato.core.options import CommandOption
from sfumato.core.table import Table
from sfumato.errors import OutputError, ParameterError, SchemaError
from sfumato.results.queries.quantiles import DEFAULT_GRID, exact_level, grid
from sfumato.results.queries.question import Answer, Condition, GroupAxis, Question, condition
from sfumato.results.queries.question_plan import PlannedQuestion, plan_question

if TYPE_CHECKING:
    from sfumato.results.queries.planner import Choice


# Replies at fixed moments: how long an answer took must not tell what is in the table.
#
# A reply leaves at the first multiple of the quantum τ after the question came: at τ if the work
# was done by then, at the next multiple otherwise, never earlier. Refusals and repeated answers
# wait like all others. Choose τ so that the largest table allowed is done within it; an overrun is
# a leak of a coarse kind, so the operator is told (without any data).

SHORTEST, LONGEST = 1e-6, 86_400
"""Shorter than a clock can tell, and longer than anybody waits."""


class SlowReply(UserWarning):
    """An answer took longer than its quantum: raise the quantum."""


def warn_operator(quanta: int) -> None:
    """Tell the operator that a reply took several quanta."""
    warnings.warn(
        f"a reply took {quanta} time quanta instead of 1; raise the quantum so that every question "
        "finishes within it",
        SlowReply,
        stacklevel=3,
    )


@dataclasses.dataclass(frozen=True)
class Quantum:
    """The time between moments at which replies leave, in seconds; clock, sleep and alarm can be
    replaced.
    """

    seconds: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    alarm: Callable[[int], None] = warn_operator

    def __post_init__(self) -> None:
        seconds_given: object = self.seconds
        if (
            isinstance(seconds_given, bool)
            or not isinstance(seconds_given, int | float)
            or not SHORTEST <= seconds_given <= LONGEST
        ):
            raise ParameterError(
                f"a time quantum must be a number of seconds from {SHORTEST:g} to {LONGEST:,}"
            )

    @contextlib.contextmanager
    def reply(self, *, since: float | None = None) -> Iterator[None]:
        """Do the work of a reply inside; leaving waits, by an answer as well as by a refusal.

        >>> now = [0.0]
        >>> quantum = Quantum(
        ...     2.0, clock=lambda: now[0], sleep=lambda s: now.__setitem__(0, now[0] + s)
        ... )
        >>> with quantum.reply():
        ...     now[0] += 0.3
        >>> now[0]
        2.0
        """
        start = self.clock() if since is None else since
        try:
            yield
        finally:
            quanta = self._wait(start)
            if quanta > 1:
                self.alarm(quanta)

    def _wait(self, start: float) -> int:
        """Sleep until the next multiple of the quantum; how many have passed then."""
        quanta = max(1, math.ceil((self.clock() - start) / self.seconds))
        # a sleep may end early, so the clock is read again
        while (seconds_left := start + quanta * self.seconds - self.clock()) > 0:
            self.sleep(seconds_left)
        return quanta


Asked = tuple[Question, PrivacyLoss]
"""A question, and what its answer may cost."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Session:
    """A table that answers under a budget. Made by :func:`session`; ``where`` and ``group_by`` give
    narrower views.

    All views share one budget. Every question costs what ``epsilon`` (Laplace noise) or ``rho``
    (Gaussian noise) says; the same question again gets the same answer and costs nothing, unless
    ``fresh`` asks for new noise.
    """

    table: DeclaredTable
    ledger: Ledger
    quantum: Quantum | None = None
    axes: tuple[GroupAxis, ...] = ()
    conditions: tuple[Condition, ...] = ()

    def __repr__(self) -> str:
        terms = self.ledger.terms
        return f"Session on {terms.dataset!r}: {terms.budget}, protects {terms.relation.words}"

    def where(self, column: str, operator: str, value: Any) -> Session:
        """Only the rows that meet this as well:
        ``where("age", ">=", 40).where("sex", "in", ["f"])``.
        """
        added = condition(column, operator, value, self.table.declared)
        return dataclasses.replace(self, conditions=(*self.conditions, added))

    def group_by(self, *columns: str) -> Session:
        """One answer each a value of the declared domain of these columns, and one for what is
        outside of it.
        """
        for column in columns:
            self.table.declared.domain_of(column)
        axes = (*self.axes, *(GroupAxis(column) for column in columns))
        if len({axis.column for axis in axes}) < len(axes):
            raise ParameterError("group_by names a column twice; name it once")
        return dataclasses.replace(self, axes=axes)

    def count(self, *, epsilon: Any = None, rho: Any = None, fresh: bool = False) -> Answer:
        """How many rows; with several rows a person, at most ``contributions`` of each."""
        return self._ask("count", None, epsilon, rho, fresh)

    def sum(
        self, column: str, *, epsilon: Any = None, rho: Any = None, fresh: bool = False
    ) -> Answer:
        """The sum of a column with declared bounds; values are moved into them."""
        return self._ask("sum", column, epsilon, rho, fresh)

    def mean(
        self, column: str, *, epsilon: Any = None, rho: Any = None, fresh: bool = False
    ) -> Answer:
        """The mean of a column with declared bounds: a noisy sum by a noisy count, half of the loss
        for each.
        """
        return self._ask("mean", column, epsilon, rho, fresh)

    def variance(
        self, column: str, *, epsilon: Any = None, rho: Any = None, fresh: bool = False
    ) -> Answer:
        """The sample variance of a column with declared bounds; a third of the loss for each of
        three totals.
        """
        return self._ask("variance", column, epsilon, rho, fresh)

    def histogram(
        self,
        column: str,
        *,
        bins: Any = None,
        epsilon: Any = None,
        rho: Any = None,
        fresh: bool = False,
    ) -> Answer:
        """Counts per value of a domain, or per bin of a column with bounds: a number of equal bins,
        or their edges.
        """

        def ask() -> Asked:
            if bins is None:
                axes = self.group_by(column).axes
            else:
                axes = (
                    *self.axes,
                    GroupAxis(column, _edges(self.table.declared.bounds_of(column), bins)),
                )
            return Question("count", None, axes, self.conditions), PrivacyLoss.of(epsilon, rho)

        return self._replied(ask, fresh=fresh)

    def quantile(
        self,
        column: str,
        level: float = 0.5,
        *,
        candidates: int | Sequence[float] = DEFAULT_GRID,
        epsilon: Any = None,
        rho: Any = None,
        fresh: bool = False,
    ) -> Answer:
        """The value of a public grid whose rank is nearest to the level (0.5: the median)."""

        def ask() -> Asked:
            values = grid(self.table.declared.bounds_of(column), candidates)
            quantile_options: Document = {
                "level": float(exact_level(level)),
                "candidates": values,
            }
            return Question(
                "quantile", column, self.axes, self.conditions, **quantile_options
            ), PrivacyLoss.of(epsilon, rho)

        return self._replied(ask, fresh=fresh)

    def sql(
        self,
        statement: str,
        *,
        epsilon: Annotated[
            Any, CommandOption("what the answer may cost (Laplace noise)", typed=float)
        ] = None,
        rho: Annotated[Any, CommandOption("or in zCDP (Gaussian noise)", typed=float)] = None,
        fresh: Annotated[
            bool, CommandOption("pay again for new noise, even if asked before", ("--fresh",))
        ] = False,
    ) -> tuple[Answer, ...]:
        """The answers to a SELECT of the documented subset, one each an aggregate; they share the
        loss equally.
        """
        from sfumato.results.queries.sql import questions

        with self._reply():
            named_questions = questions(statement, self.table.declared, self.ledger.terms.dataset)
            part = PrivacyLoss.of(epsilon, rho).divided(len(named_questions))
            answers = self._answers(
                [(question, part) for _, question in named_questions], fresh=fresh
            )
            names = (name for name, _ in named_questions)
            return tuple(
                dataclasses.replace(answer, label=name)
                for answer, name in zip(answers, names, strict=True)
            )

    @property
    def spent(self) -> float:
        """What all answers together have cost, in the currency of the budget."""
        with self.ledger.hold() as book:
            return self.ledger.terms.budget.spent(book.spending)

    @property
    def largest_epsilon(self) -> float:
        """The largest ε that one more answer may cost."""
        with self.ledger.hold() as book:
            return self.ledger.terms.budget.largest_epsilon(book.spending)

    @property
    def history(self) -> tuple[str, ...]:
        """The questions that were paid for, in order."""
        with self.ledger.hold() as book:
            return tuple(
                f"{text} ({loss})" for text, loss in zip(book.asked, book.losses, strict=True)
            )

    def epsilon_for(self, statistic: str, column: str | None = None, **expected: Any) -> float:
        """How much ε an answer of some accuracy needs;
        see :func:`sfumato.results.queries.planner.epsilon_for`. Costs nothing.
        """
        from sfumato.results.queries.planner import epsilon_for

        return epsilon_for(statistic, **self._column_facts(column), **expected)

    def choices(
        self, statistic: str, column: str | None = None, **expected: Any
    ) -> tuple[Choice, ...]:
        """What several ε mean: what an intruder learns, and the error of this question. Costs
        nothing.
        """
        from sfumato.results.queries.planner import choices

        return choices(statistic, **self._column_facts(column), **expected)

    def _replied(self, ask: Callable[[], Asked], *, fresh: bool) -> Answer:
        """The answer to a question, or its refusal: both leave at a multiple of the quantum."""
        with self._reply():
            return self._answers([ask()], fresh=fresh)[0]

    def _ask(
        self, statistic: str, column: str | None, epsilon: Any, rho: Any, fresh: bool
    ) -> Answer:
        def ask() -> Asked:
            return Question(statistic, column, self.axes, self.conditions), PrivacyLoss.of(
                epsilon, rho
            )

        return self._replied(ask, fresh=fresh)

    def _answers(self, questions_asked: Sequence[Asked], *, fresh: bool) -> tuple[Answer, ...]:
        """All questions are paid for, or none is; then all are answered."""
        declared_columns, relation = self.table.declared, self.ledger.terms.relation
        # planned before the ledger is held: what is refused costs nothing. The key stands for the
        # question, so one that is asked twice in a statement is paid for once.
        plans = {
            q.key(declared_columns, relation, loss): plan_question(
                q, declared_columns, relation, loss
            )
            for q, loss in questions_asked
        }
        with self.ledger.hold() as book:
            if fresh:
                old = {}
            else:
                old = {key: book.answers[key] for key in plans if key in book.answers}
            new = {key: plan for key, plan in plans.items() if key not in old}
            # paid before the data are read: if the process dies in between, budget is lost, not
            # privacy
            book.spend({key: (str(plan.question), plan.loss) for key, plan in new.items()})
            answers = self._computed(new)
            book.record({key: answer.to_dict() for key, answer in answers.items()})
        repeated = {
            key: dataclasses.replace(Answer.from_dict(plain), repeated=True)
            for key, plain in old.items()
        }
        return tuple(
            {**answers, **repeated}[q.key(declared_columns, relation, loss)]
            for q, loss in questions_asked
        )

    def _computed(self, plans: Mapping[str, PlannedQuestion]) -> dict[str, Answer]:
        """All noise first; then the data."""
        noisy_plans = {key: plan.with_noise() for key, plan in plans.items()}
        return {key: plan.answered(self.table) for key, plan in noisy_plans.items()}

    def _column_facts(self, column: str | None) -> Document:
        if column is None:
            bounds = None
        else:
            bounds = self.table.declared.bounds_of(column)
        groups = 1
        for axis in self.axes:
            groups *= len(axis.labels(self.table.declared))
        return {"bounds": bounds, "relation": self.ledger.terms.relation, "groups": groups}

    def _reply(self) -> contextlib.AbstractContextManager[None]:
        if self.quantum is None:
            return contextlib.nullcontext()
        return self.quantum.reply()


def _edges(bounds: tuple[float, float], bins: Any) -> tuple[float, ...]:
    if type(bins) is int:
        if bins < 1:
            raise ParameterError("a histogram needs at least one bin")
        return grid(bounds, bins + 1)
    edges = grid(bounds, bins)
    if len(edges) < 2:
        raise ParameterError("a histogram needs at least two edges")
    return edges


# Opening a session: whose budget it is, whom it protects, what is declared.


@dataclasses.dataclass(frozen=True)
class SessionOptions:
    """What a session takes besides its everyday keywords.

    Attributes:
        neighbours: ``"add_remove"`` (default) hides whether somebody is in the table,
        ``"change_one"`` what the rows are.
        domains: column → values that may occur; added to what the schema declares.
        missing: column → the value a missing one counts as; by default it counts for nothing.
        name: what the dataset is called: in SQL after FROM, and in the ledger, which answers for
            this dataset only; by default the file's name where that is one word, otherwise people.
        quantum: seconds between the moments at which replies leave, so that their time tells
        nothing.
    """

    panel: ClassVar[str] = "Start a ledger"
    neighbours: Annotated[str | None, CommandOption("add_remove or change_one")] = None
    domains: Fields | None = None
    missing: Fields | None = None
    name: Annotated[str | None, CommandOption("the dataset's name; else the recipe's")] = None
    quantum: Quantum | float | None = None


def session(
    dataset: Table,
    *,
    budget: Budget | float | None = None,
    protects: Annotated[
        str | None,
        CommandOption("the column that identifies persons, or 'row'", panel=SessionOptions.panel),
    ] = None,
    contributions: Annotated[
        int | None,
        CommandOption("rows of one person that count", panel=SessionOptions.panel),
    ] = None,
    bounds: Fields | None = None,
    ledger: str | Path | None = None,
    options: SessionOptions = SessionOptions(),
) -> Session:
    """Open a table for questions under differential privacy.

    Args:
        dataset: the table; its schema may declare bounds and domains.
        budget: what may be lost in total, e.g. ``Budget(1.0)``; a number is a pure ε. Not needed
        for an old ledger.
        protects: the column that names a person with several rows, or ``"row"`` when every row is
            another person; by default the schema's person column, or else ``"row"``.
        contributions: how many rows of one person count; needed when ``protects`` is a column.
            Surplus rows are left out at random.
        bounds: column → (lowest, highest) value that counts; added to what the schema declares.
        ledger: a file that remembers what was spent, shared by all who ask; by default this session
        remembers alone.
        options: neighbours, domains, missing values, name and quantum; see
            :class:`SessionOptions`.

    >>> import sfumato as sf
    >>> asking = session(sf.examples.hospital(rows=500), budget=1.0, bounds={"age": (0, 110)})
    >>> asking.mean("age", epsilon=0.5).epsilon, asking.spent
    (0.5, 0.5)
    """
    if not isinstance(dataset, Table):
        raise ParameterError("a session needs a dataset; read the table first: sf.read(frame)")
    undecided = dataset.schema.undecided(dataset.source.name)
    if undecided:  # one of these columns may name persons with several rows
        raise SchemaError(undecided)
    declarations = declared(
        dataset.schema, bounds=bounds, domains=options.domains, missing=options.missing
    )
    require_declared(dataset, declarations)
    waiting = options.quantum
    if isinstance(waiting, int | float):
        waiting = Quantum(waiting)
    book = _ledger(
        dataset, ledger, budget, options.name, protects, options.neighbours, contributions
    )
    relation = book.terms.relation
    if relation.protects != ROW:
        dataset.require([relation.protects])
    return Session(DeclaredTable.of(dataset, declarations, relation), book, waiting)


def _ledger(
    dataset: Table,
    path: str | Path | None,
    budget: Budget | float | None,
    name: str | None,
    protects: str | None,
    neighbours: str | None,
    contributions: int | None,
) -> Ledger:
    """The ledger there is, if what is asked for agrees with it; otherwise a new one."""
    if budget is None or isinstance(budget, Budget):
        total = budget
    else:
        total = Budget(budget)
    if path is not None and Path(path).exists():
        old = Ledger.at(path)
        _agree(old, total, name, protects, neighbours, contributions)
        return old
    if total is None:
        where = "" if path is None else f" and there is no ledger {path} yet"
        raise ParameterError(
            f"a budget is missing{where}; give the total loss, e.g. budget=1.0 (--budget 1.0)"
        )
    ledger_name = name or _name_of(dataset)
    relation = _relation(dataset, protects, neighbours or "add_remove", contributions)
    terms = Terms(ledger_name, total, relation)
    if path is None:
        return Ledger(terms)
    try:
        return Ledger.start(path, terms)
    except OutputError:
        if not Path(path).exists():
            raise
    old = Ledger.at(path)  # somebody else has just started it
    _agree(old, total, name, protects, neighbours, contributions)
    return old


def _name_of(dataset: Table) -> str:
    stem = Path(dataset.source.name).stem
    return stem if stem.isidentifier() else "people"


def _relation(
    dataset: Table, protects: str | None, neighbours: str, contributions: int | None
) -> Relation:
    person = dataset.schema.person
    unit = protects or person or ROW
    if unit == ROW and person is not None:
        raise SchemaError(
            f"column {person!r} identifies persons with several rows, so protecting one row would "
            "not protect them; protect the person"
        )
    if unit != ROW:
        dataset.require([unit])
    if person is not None and unit not in dataset.schema.units:
        raise SchemaError(
            f"column {person!r} identifies persons; {unit!r} has no role 'person' or 'household', "
            "so it may split them; protect the person"
        )
    if unit == ROW:
        return Relation(ROW, neighbours, 1 if contributions is None else contributions)
    if contributions is None:
        raise ParameterError(
            f"give the number of rows of one {unit} that count, e.g. contributions=3; the others "
            "are removed at random"
        )
    return Relation(unit, neighbours, contributions)


def _agree(
    ledger: Ledger,
    budget: Budget | None,
    name: str | None,
    protects: str | None,
    neighbours: str | None,
    contributions: int | None,
) -> None:
    """Refuse what contradicts an old ledger: a budget is not made larger by asking for a larger
    one.
    """
    terms = ledger.terms
    term_pairs = {
        "budget": (budget, terms.budget),
        "name": (name, terms.dataset),
        "protects": (protects, terms.relation.protects),
        "neighbours": (neighbours, terms.relation.neighbours),
        "contributions": (contributions, terms.relation.contributions),
    }
    differences = [
        f"{term} is {stored_value}, not {given_value}"
        for term, (given_value, stored_value) in term_pairs.items()
        if given_value not in (None, stored_value)
    ]
    if differences:
        raise ParameterError(
            f"the ledger {ledger.path} was started with other terms: "
            f"{'; '.join(differences)}; use the same or another ledger"
        )
