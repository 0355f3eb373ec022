"""Opening a session: whose budget it is, whom it protects, what is declared."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.core.dataset import Dataset
from sfumato.core.schema import Role
from sfumato.dp.asking import Session
from sfumato.dp.budget import Budget
from sfumato.dp.domains import declared
from sfumato.dp.ledger import Ledger, Terms
from sfumato.dp.relation import ROW, Relation
from sfumato.dp.table import Table, require_declared
from sfumato.dp.timing import Quantum
from sfumato.errors import OutputError, ParameterError, SchemaError


def session(
    dataset: Dataset,
    *,
    budget: Budget | float | None = None,
    protects: str | None = None,
    neighbours: str | None = None,
    contributions: int | None = None,
    bounds: Mapping[str, Any] | None = None,
    domains: Mapping[str, Any] | None = None,
    missing: Mapping[str, Any] | None = None,
    ledger: str | Path | None = None,
    name: str | None = None,
    quantum: Quantum | float | None = None,
) -> Session:
    """Open a table for questions under differential privacy.

    Args:
        dataset: the table; its schema may declare bounds and domains.
        budget: what may be lost in total, e.g. ``Budget(1.0)``; a number is a pure ε. Not needed for an old ledger.
        protects: the column that names a person with several rows, or ``"row"`` when every row is another person;
            by default the schema's person column, or else ``"row"``.
        neighbours: ``"add_remove"`` (default) hides whether somebody is in the table, ``"change_one"`` what the rows are.
        contributions: how many rows of one person count; needed when ``protects`` is a column. Surplus rows are left
            out at random.
        bounds: column → (lowest, highest) value that counts; added to what the schema declares.
        domains: column → values that may occur; added to what the schema declares.
        missing: column → the value a missing one counts as; by default it counts for nothing.
        ledger: a file that remembers what was spent, shared by all who ask; by default this session remembers alone.
        name: what the dataset is called: in SQL after FROM, and in the ledger, which answers for this dataset only; by default the
            file's name where that is one word, otherwise people.
        quantum: seconds between the moments at which replies leave, so that their time tells nothing.

    >>> import sfumato as sf
    >>> asking = session(sf.examples.hospital(rows=500), budget=1.0, bounds={"age": (0, 110)})
    >>> asking.mean("age", epsilon=0.5).epsilon, asking.spent
    (0.5, 0.5)
    """
    if not isinstance(dataset, Dataset):
        raise ParameterError("a session needs a dataset; read the table first: sf.read(frame)")
    undecided = dataset.schema.undecided(dataset.source.name)
    if undecided:  # one of these columns may name persons with several rows
        raise SchemaError(undecided)
    known = declared(dataset.schema, bounds=bounds, domains=domains, missing=missing)
    require_declared(dataset, known)
    waiting = Quantum(quantum) if isinstance(quantum, int | float) else quantum
    book = _ledger(dataset, ledger, budget, name, protects, neighbours, contributions)
    relation = book.terms.relation
    if relation.protects != ROW:
        dataset.require([relation.protects])
    return Session(Table.of(dataset, known, relation), book, waiting)


def _ledger(
    dataset: Dataset,
    path: str | Path | None,
    budget: Budget | float | None,
    name: str | None,
    protects: str | None,
    neighbours: str | None,
    contributions: int | None,
) -> Ledger:
    """The ledger there is, if what is asked for agrees with it; otherwise a new one."""
    total = budget if budget is None or isinstance(budget, Budget) else Budget(budget)
    if path is not None and Path(path).exists():
        old = Ledger.at(path)
        _agree(old, total, name, protects, neighbours, contributions)
        return old
    if total is None:
        where = "" if path is None else f" and there is no ledger {path} yet"
        raise ParameterError(
            f"a budget is missing{where}: say what may be lost in total, e.g. budget=1.0 (--budget 1.0)"
        )
    called = name or _name_of(dataset)
    relation = _relation(dataset, protects, neighbours or "add_remove", contributions)
    terms = Terms(called, total, relation)
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


def _name_of(dataset: Dataset) -> str:
    stem = Path(dataset.source.name).stem
    return stem if stem.isidentifier() else "people"


def _relation(dataset: Dataset, protects: str | None, neighbours: str, contributions: int | None) -> Relation:
    person = dataset.schema.person
    unit = protects or person or ROW
    if unit == ROW and person is not None:
        raise SchemaError(
            f"column {person!r} names persons with several rows; protecting one row would not protect them"
        )
    if unit != ROW:
        dataset.require([unit])
    if person is not None and unit not in dataset.named(Role.UNIT):
        raise SchemaError(f"column {person!r} names persons; {unit!r} has no role 'unit', so it may split them up")
    if unit == ROW:
        return Relation(ROW, neighbours, 1 if contributions is None else contributions)
    if contributions is None:
        raise ParameterError(
            f"say how many rows of one {unit} count, e.g. contributions=3; the rest is left out at random"
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
    """Refuse what contradicts an old ledger: a budget is not made larger by asking for a larger one."""
    terms = ledger.terms
    asked = {
        "budget": (budget, terms.budget),
        "name": (name, terms.dataset),
        "protects": (protects, terms.relation.protects),
        "neighbours": (neighbours, terms.relation.neighbours),
        "contributions": (contributions, terms.relation.contributions),
    }
    other = [f"{what} is {kept}, not {given}" for what, (given, kept) in asked.items() if given not in (None, kept)]
    if other:
        raise ParameterError(f"the ledger {ledger.path} was started otherwise: {'; '.join(other)}")
