"""The ledger: what was spent on a dataset, in a journal.

It begins with the terms of the budget. Every batch of questions is an :class:`Expense` that is on
the disk before the noise is drawn, and a :class:`StoredAnswer` follows for each once there is one.
A process that is killed in between has spent and not answered: the ledger never counts too little.
What it cannot notice is being replaced by an older copy of itself, so keep it where those who ask
cannot write.

The ledger belongs to a declared dataset, not to the bytes of a file: when the data change, what was
spent stays spent. The file is locked from before a question is looked up until its answer is
written; processes take turns.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sfumato.core.budget import NOTHING, Budget, PrivacyLoss
from sfumato.core.declared import Relation
from sfumato.core.fields import Fields
from sfumato.core.journal import Entry, Journal, JournalKind
from sfumato.errors import BudgetExceeded, ParameterError


@dataclasses.dataclass(frozen=True)
class Terms(Entry):
    """What a budget is for: the dataset, the total, and whom it protects."""

    dataset: str
    budget: Budget
    relation: Relation


@dataclasses.dataclass(frozen=True)
class Expense(Entry):
    """What a batch of questions costs: per key the text of the question and its loss."""

    questions: Mapping[str, tuple[str, Mapping[str, str]]]


@dataclasses.dataclass(frozen=True)
class StoredAnswer(Entry):
    """The answer to a question, given again whenever the same is asked."""

    key: str
    values: Fields


LEDGER = JournalKind("ledger", (Terms, Expense, StoredAnswer), "nothing is answered", first=Terms)


class Book:
    """A ledger while it is held: what was asked, spent and answered, and the only way to add to
    it.
    """

    def __init__(self, terms: Terms, journal: Journal) -> None:
        self.terms = terms
        self.losses: list[PrivacyLoss] = []
        self.spending = NOTHING
        self.answers: dict[str, Fields] = {}
        self.asked: list[str] = []
        self.spent_on: set[str] = set()
        self._journal = journal
        self._entries = journal.entries
        self._counted = 0
        self.catch_up()

    @property
    def is_current(self) -> bool:
        """Whether the journal was only added to since it was counted, not read again."""
        # A journal that was read again has another list of entries.
        return self._entries is self._journal.entries

    def spend(self, questions: Mapping[str, tuple[str, PrivacyLoss]]) -> None:
        """Write down what these questions (key → text, loss) cost, all or none, before anything is
        computed.
        """
        losses = [loss for _, loss in questions.values()]
        # All losses together: a batch is paid as a whole or not asked.
        if not self.terms.budget.affords(self.spending.plus(losses)):
            raise BudgetExceeded(self._refusal(losses))
        if questions:
            expenses = {key: (text, loss.to_dict()) for key, (text, loss) in questions.items()}
            self._journal.append(Expense(expenses))
            self.catch_up()

    def record(self, answers: Mapping[str, Fields]) -> None:
        """Keep answers, so that the same questions get them again."""
        self._journal.append(*(StoredAnswer(key, values) for key, values in answers.items()))
        self.catch_up()

    def catch_up(self) -> None:
        """Count the entries that were not counted yet."""
        for entry in self._entries[self._counted :]:
            if isinstance(entry, StoredAnswer):
                self.answers[entry.key] = entry.values
            elif isinstance(entry, Expense):
                self._count(entry)
        self._counted = len(self._entries)

    def _count(self, entry: Expense) -> None:
        for key, (text, plain) in entry.questions.items():
            loss = PrivacyLoss.from_dict(plain)
            self.losses.append(loss)
            self.spending = self.spending.plus([loss])
            self.asked.append(text)
            self.spent_on.add(key)

    def _refusal(self, losses: Sequence[PrivacyLoss]) -> str:
        budget = self.terms.budget
        cost = " + ".join(str(loss) for loss in losses[:4]) + (" + …" if len(losses) > 4 else "")
        return (
            f"the budget of {self.terms.dataset!r} is {budget}; {self.spending.answers} answer(s) "
            f"spent {budget.spent(self.spending):g} of it, and {cost} more would exceed it. One "
            f"more answer may cost up to ε = {budget.largest_epsilon(self.spending):g}; repeating "
            "an answered question is free"
        )


class Ledger:
    """Where a session writes down what it spends: in memory, or in a file that survives it and is
    shared.
    """

    def __init__(self, terms: Terms, journal: Journal | None = None) -> None:
        self.terms = terms
        self._journal = journal or Journal(None, LEDGER)
        self._book: Book | None = None

    @property
    def path(self) -> Path | None:
        """The file of the ledger; None where it is kept in memory."""
        return self._journal.path

    @classmethod
    def at(cls, path: str | Path) -> Ledger:
        """The ledger in a file; everything in it is checked."""
        journal = Journal(Path(path), LEDGER)
        with journal.turn():
            terms = journal.of_type(Terms)[0]
        return cls(terms, journal)

    @classmethod
    def start(cls, path: str | Path, terms: Terms) -> Ledger:
        """A new ledger file; an old one is never replaced."""
        journal = Journal(Path(path), LEDGER)
        journal.start(terms)
        return cls(terms, journal)

    @contextlib.contextmanager
    def hold(self) -> Iterator[Book]:
        """The ledger, ours alone until the end of the block."""
        with self._journal.turn() as journal:
            # What is kept in memory nobody can replace.
            if self.path is not None and journal.entries[0] != self.terms:
                raise ParameterError(
                    f"the ledger {self.path} was replaced by one with other terms; restore "
                    "the original"
                )
            # The book goes on counting where it stopped; only a journal read again is counted
            # again.
            if self._book is None or not self._book.is_current:
                self._book = Book(self.terms, journal)
            yield self._book
