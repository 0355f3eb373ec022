"""What may leave: the rules at home, before anything is sent, and those that all compute together,
before anything is opened.

====================  ==============================================================  ==============
rule                  refuses when                                                    where
====================  ==============================================================  ==============
``two_parties``       fewer parties than the study's least                            the study
``few_own``           the party has fewer records than it asks of itself              at home
``few_records``       all together have fewer records than the least                  together
``few_contributors``  fewer parties than the least have a record                      together
``many_records``      there are more records than the study allows: sums might not    home, together
                      fit
``small_cells``       a count is below the least: it is left out, and so is what      together
                      needs it
``dominance``         of a sum of amounts, all but the two largest say too little     together
``differencing``      an earlier answer differs by few parties, or by few own rows    at home
``asked_before``      the same was answered: the old answer comes again, nothing is   at home
                      sent
``equations``         too many numbers were opened about these rows                   at home
====================  ==============================================================  ==============

With noise inside, its budget replaces small_cells, dominance, differencing and equations. Gates
computed together tell one bit: which of them failed is not learned.
"""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import polars as pl
from pydantic import Field as Limit

from sfumato.core.declared import as_floats
from sfumato.core.fields import Document, Fields
from sfumato.core.files import write_whole
from sfumato.core.journal import Entry, Journal, JournalKind
from sfumato.core.parameters import parameters
from sfumato.errors import Declined, ReleaseRefused, UnreadableInput
from sfumato.parties.arithmetic import Arithmetic, all_at_least
from sfumato.parties.channel import Phase
from sfumato.parties.kinds import question_to
from sfumato.parties.question import JointQuestion, Magnitudes, Meeting, canonical_rows
from sfumato.parties.signs import negative

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table


@parameters
class Rules:
    """The least that an answer rests on."""

    least_records: Annotated[
        int,
        Limit(
            ge=1, description="least number of records of all parties together, and in every count"
        ),
    ] = 10
    least_parties: Annotated[
        int, Limit(ge=2, description="least number of parties, and of parties with a record")
    ] = 3
    least_own: Annotated[int, Limit(ge=0, description="records a party needs to take part")] = 1
    dominance: Annotated[
        int,
        Limit(ge=0, le=100, description="percent of the largest amount that the others must cover"),
    ] = 10


MOST_OF_FEW = 10
"""So many numbers may be opened however few rows there are; beyond, one for every ten records."""


# What all compute together before anything is opened.


async def require_enough(
    question: JointQuestion, people: Table, meeting: Meeting, rules: Rules
) -> None:
    """Refuse, all at once and by one bit, where too few records or parties are behind the
    answer.
    """
    # with noise, the budget protects what a dominant record would lose
    if meeting.noise:
        amounts = None
    else:
        amounts = question.magnitudes(people, meeting.records_at_most)
    await require_enough_records(int(question.rows(people).sum()), amounts, meeting, rules)


async def require_enough_records(
    own: int, amounts: Magnitudes | None, meeting: Meeting, rules: Rules
) -> None:
    """The same of a number of own records, and of own amounts where one could dominate."""
    arithmetic = Arithmetic(meeting.channel, meeting.degree, meeting.draw)
    await _require_room(own, meeting)
    # the second number is 1 for a party with records: their sum counts contributors
    if not await all_at_least(
        arithmetic, [(own, rules.least_records), (min(own, 1), rules.least_parties)]
    ):
        raise ReleaseRefused(
            "the rule 'few_records' or 'few_contributors' refuses: an answer needs at least "
            f"{rules.least_records} records, of at least {rules.least_parties} parties; nobody "
            "learns which rule it was"
        )
    if amounts is not None and await _is_dominated(amounts, meeting, rules):
        raise ReleaseRefused(
            "the rule 'dominance' refuses: all amounts but the two largest are so small that one "
            "of the two could be estimated from the sum; or records_at_most times the bounds is "
            "so far above the true sum that they cannot be compared, then lower them"
        )


async def _require_room(own: int, meeting: Meeting) -> None:
    """Refuse more records than the study says: sums could leave their range, and come out wrong
    with nobody noticing.

    Counts are compared in units so coarse that they fit into the field; one's own is rounded up.
    """
    record_limit, channel = meeting.records_at_most, meeting.channel
    if own > record_limit:
        raise ReleaseRefused(
            f"the rule 'many_records' refuses: this party alone has more than the {record_limit:,}"
            " records that the study allows"
        )
    # all parties together reach at most 2²⁹ units, so that a difference stays within ±p/2
    unit = max(1, -(-record_limit * channel.parties // 2**29))
    arithmetic = Arithmetic(channel, meeting.degree, meeting.draw, phase=Phase.GATES)
    total = await arithmetic.shared(np.array([-(-own // unit)]))
    # the limit less the total is negative where there are too many
    above = await negative(
        arithmetic, arithmetic.plus(arithmetic.scaled(total, -1), record_limit // unit)
    )
    if not (await arithmetic.zeros(above))[0]:
        raise ReleaseRefused(
            f"the rule 'many_records' refuses: all together have more than the {record_limit:,}"
            " records that the study allows; raise records_at_most"
        )


async def _is_dominated(own: Magnitudes, meeting: Meeting, rules: Rules) -> bool:
    """Whether for two contributors u, w the rest X − u − w is below p percent of u; contributors
    are parties, and records.
    """
    if rules.dominance == 0:
        return False
    channel = meeting.channel
    arithmetic = Arithmetic(channel, meeting.degree, meeting.draw, phase=Phase.GATES)
    # each party fills its own column and shares 0 for the others: added up, the shares
    # are a matrix of everybody's total, largest and second largest record
    own_shares = np.zeros((3, channel.parties), dtype=np.int64)
    own_shares[:, channel.number] = own.total, *own.largest
    shares = (await arithmetic.shared(own_shares.ravel())).reshape(3, channel.parties)
    # contributors are parties (their totals) or records (the two largest of each party)
    pairs = [pair for group in (shares[0], shares[1:].ravel()) for pair in permutations(group, 2)]
    first, second = np.array(pairs, dtype=np.uint64).T
    total = np.repeat(arithmetic.sums(shares[:1]), len(pairs))
    # X − u − w < u · p / 100, times 100: negative where the rest is too small
    weighted = [(total, 100), (second, -100), (first, -100 - rules.dominance)]
    tested = arithmetic.sums(
        np.stack([arithmetic.scaled(amount, weight) for amount, weight in weighted], axis=1)
    )
    bad = await negative(arithmetic, tested)
    # the product is 0 as soon as one pair is bad, and which one is not learned
    none_bad = await arithmetic.all_multiplied(arithmetic.plus(arithmetic.scaled(bad, -1), 1))
    return bool((await arithmetic.zeros(none_bad))[0])


# What is known at home of earlier answers.


@dataclasses.dataclass(frozen=True)
class AnsweredQuestion(Entry):
    """What was asked of which parties about which rows, and what was answered; None: others may
    know it, we never heard.
    """

    key: str
    name: str
    about: tuple[str, ...]
    cuts: Mapping[str, tuple[str, ...]]
    study: str
    parties: tuple[str, ...]
    dataset: str
    rows: str
    """The file with marks of the rows."""
    input: str
    noisy: bool
    opened: int
    answer: Fields | None


ANSWERS = JournalKind("store of joint answers", (AnsweredQuestion,), "nothing is asked")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class AskedTogether:
    """A question of certain parties about one's own rows: ``rows`` are keyed hashes of those that
    count, ``input`` one of what they say to it.

    ``numbers`` are what these rows hold in columns that the question cuts at bounds or edges; they
    are compared and never written.
    """

    question: JointQuestion
    parties: tuple[str, ...]
    dataset: str
    rows: NDArray[np.uint64]
    input: str
    numbers: Mapping[str, NDArray[np.float64]]
    noisy: bool

    @classmethod
    def of(
        cls,
        question: JointQuestion,
        parties: Sequence[str],
        dataset: str,
        people: Table,
        key: bytes,
        *,
        noisy: bool,
    ) -> AskedTogether:
        """Hash the rows that count with the owner's key."""
        counting = people.take(np.flatnonzero(question.rows(people)))
        key_digest = hmac.new(
            key, b"input" + canonical_rows(counting, question.columns), hashlib.sha256
        ).hexdigest()
        numbers = {column: as_floats(counting.column(column)) for column in question.cuts}
        return cls(
            question,
            tuple(sorted(parties)),
            dataset,
            row_marks(counting, key),
            key_digest,
            numbers,
            noisy,
        )

    @property
    def key(self) -> str:
        """What makes it the same question."""
        return _digest(
            {"question": question_to(self.question), "dataset": self.dataset, "noisy": self.noisy}
        )

    @property
    def about(self) -> tuple[str, ...]:
        """The columns whose values are added up or counted; of a count, those of its filter."""
        question_columns = self.question.columns
        return (
            tuple(name for name in question_columns if name not in self.question.filters)
            or question_columns
        )

    def meets(self, earlier: AnsweredQuestion) -> bool:
        """Whether an earlier answer and this one could be subtracted: they tell of a column in
        common, or both count all records.
        """
        shared = set(self.about) & set(earlier.about)
        return bool(shared) or (
            earlier.name == self.question.name and not (self.about and earlier.about)
        )


def row_marks(people: Table, key: bytes) -> NDArray[np.uint64]:
    """A keyed hash of 64 bits for every row with all its columns, sorted; equal rows have equal
    marks.

    Of all columns, so that rows of different questions can be compared.
    """
    # by name: the order of columns in a file does not matter
    kinds = {name: people.column(name).dtype for name in sorted(people.columns)}
    # nested and binary columns have no text to hash
    plain = [
        name
        for name, kind in kinds.items()
        if not kind.is_nested() and kind not in (pl.Object, pl.Binary)
    ]
    texts = json.loads(canonical_rows(people, plain)) if len(people) else []
    marks = [hmac.new(key, text.encode(), hashlib.sha256).digest()[:8] for text in texts]
    return np.sort(np.frombuffer(b"".join(marks), dtype="<u8"))


def fewest_at_cuts(
    numbers: NDArray[np.float64], first_cuts: Sequence[str], second_cuts: Sequence[str]
) -> int:
    """The fewest numbers, but not none, next to a cut that only one of two questions makes; 0 where
    there are none.

    Sums up to 1000 and up to 1001, or counts below 10 and below 11, differ by those that lie
    between or beyond.

    >>> fewest_at_cuts(np.array([1.0, 2.0, 3.0, 999.5]), ["0", "1000"], ["0", "999"])
    1
    >>> fewest_at_cuts(np.array([1.0, 2.0, 3.0, 999.5]), ["0", "1000"], ["0", "1000.0"])
    0
    """
    first, second = ({float(Fraction(cut)) for cut in cuts} for cuts in (first_cuts, second_cuts))
    cuts = sorted(first | second)
    # numbers between neighbouring cuts; beside cut i lie the groups i and i + 1
    sizes = np.bincount(
        np.searchsorted(cuts, numbers[~np.isnan(numbers)], side="right"), minlength=len(cuts) + 1
    )
    beside = [
        size
        for i, cut in enumerate(cuts)
        # cuts that both questions make reveal nothing new
        if cut in first ^ second
        for size in sizes[i : i + 2]
        if size
    ]
    return int(min(beside, default=0))


def rows_between(first_rows: NDArray[np.uint64], second_rows: NDArray[np.uint64]) -> int:
    """How many rows are in one of two sets and not in the other, equal rows counted as often as
    they occur.
    """
    # counted by mark, as equal rows have equal marks: 7,7,9 and 7,9,9 differ by two
    names, where = np.unique(np.concatenate([first_rows, second_rows]), return_inverse=True)
    counts = [
        np.bincount(part, minlength=len(names))
        for part in np.split(where.ravel(), [len(first_rows)])
    ]
    return int(np.abs(counts[0] - counts[1]).sum())


class AnswerStore:
    """A party's own store of what was answered: a journal, and files with marks of the rows.

    Locked while a question is checked and written down, so that two questions cannot pass each
    other.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._journal = Journal(self.folder / "answered.jsonl", ANSWERS)

    def stored(self, question: AskedTogether) -> Document | None:
        """The answer to the same question of the same parties about the same rows
        (``asked_before``).
        """
        for earlier in self._journal.read().of_type(AnsweredQuestion):
            is_same = (earlier.key, earlier.parties, earlier.input) == (
                question.key,
                question.parties,
                question.input,
            )
            if is_same and earlier.answer is not None:
                return dict(earlier.answer)
        return None

    def require_new(self, question: AskedTogether, rules: Rules) -> None:
        """Refuse what earlier answers would undo: ``few_own``, ``differencing`` and
        ``equations``.
        """
        if len(question.rows) < rules.least_own:
            raise Declined(
                "the rule 'few_own' declines: this party has fewer records than it "
                "requires of itself"
            )
        self._journal.read()
        self._require_apart_from_all(question, rules)

    def _require_apart_from_all(self, question: AskedTogether, rules: Rules) -> None:
        if question.noisy:
            return
        entries = self._journal.of_type(AnsweredQuestion)
        earlier = [
            entry for entry in entries if not entry.noisy and entry.dataset == question.dataset
        ]
        # of a study noted twice, only the entry with its answer is looked at below
        heard = {(entry.study, entry.key) for entry in earlier if entry.answer is not None}
        for entry in earlier:
            if not question.meets(entry):
                continue
            self._require_apart(entry, question, rules)
            if entry.answer is not None or (entry.study, entry.key) not in heard:
                _require_no_joined_counts(entry, question, rules)
        # a study is noted when its answer may be opened, and again with the answer
        opened = {(entry.study, entry.key): entry.opened for entry in earlier}
        total = question.question.numbers_opened + sum(opened.values())
        # one's own rows stand for those of the others, whose number is not known
        answer_limit = max(len(question.rows) * len(question.parties) // 10, MOST_OF_FEW)
        if question.question.numbers_opened and total > answer_limit:
            raise ReleaseRefused(
                f"the rule 'equations' refuses: {total} numbers would be opened about rows that "
                f"allow {answer_limit}; ask with noise"
            )

    def _require_apart(
        self, earlier: AnsweredQuestion, question: AskedTogether, rules: Rules
    ) -> None:
        differing = set(earlier.parties) ^ set(question.parties)
        if 0 < len(differing) < rules.least_parties:
            # the answers' difference would be about these few parties
            raise ReleaseRefused(
                "the rule 'differencing' refuses: a similar question was answered for parties "
                f"that differ by {len(differing)}, and the difference of both answers would "
                "describe them alone"
            )
        between = rows_between(self._marks(earlier), question.rows)
        if not differing and 0 < between < rules.least_records:
            raise ReleaseRefused(
                "the rule 'differencing' refuses: an earlier answer uses rows that differ in "
                f"fewer than {rules.least_records} of ours"
            )
        for column, cuts in earlier.cuts.items():
            if column in question.numbers and not differing:
                smallest_difference = fewest_at_cuts(
                    question.numbers[column], cuts, question.question.cuts[column]
                )
                if 0 < smallest_difference < rules.least_records:
                    raise ReleaseRefused(
                        f"the rule 'differencing' refuses: an earlier answer cuts column {column!r}"
                        f" at other bounds or edges, with fewer than {rules.least_records} of our"
                        " records next to them; ask with the same ones"
                    )

    def opening(self, question: AskedTogether, rules: Rules, study: str) -> None:
        """Note that others may soon know the answer, whether or not we ever hear it.

        Checked once more, alone with the store: two studies that were planned at the same time must
        not both be answered.
        """
        with self._journal.turn():
            entries = self._journal.of_type(AnsweredQuestion)
            # another attempt of the same study is no new answer
            if not any(entry.study == study and entry.input == question.input for entry in entries):
                self._require_apart_from_all(question, rules)
                self._append(question, None, study)

    def record(self, question: AskedTogether, answer: Fields, study: str) -> None:
        """Write down what was answered."""
        with self._journal.turn():
            self._append(question, answer, study)

    def _append(self, asked_question: AskedTogether, answer: Fields | None, study: str) -> None:
        marks = asked_question.rows.astype("<u8").tobytes()
        rows = _rows_name(marks)
        if not (self.folder / rows).exists():
            write_whole(self.folder / rows, marks)
        question = asked_question.question
        self._journal.append(
            AnsweredQuestion(
                key=asked_question.key,
                name=question.name,
                about=asked_question.about,
                cuts={column: tuple(cuts) for column, cuts in question.cuts.items()},
                study=study,
                parties=asked_question.parties,
                dataset=asked_question.dataset,
                rows=rows,
                input=asked_question.input,
                noisy=asked_question.noisy,
                opened=question.numbers_opened,
                answer=answer,
            )
        )

    def _marks(self, earlier: AnsweredQuestion) -> NDArray[np.uint64]:
        # the name alone: a journal must not lead to other folders
        path = self.folder / Path(earlier.rows).name
        content = path.read_bytes() if path.exists() else b""
        # the name is the digest of the content: a changed or missing file is noticed
        if _rows_name(content) != path.name:
            raise UnreadableInput(
                f"{path} was changed after it was written; nothing is asked until the original is "
                "restored"
            )
        return np.frombuffer(content, dtype="<u8")


def _require_no_joined_counts(
    earlier: AnsweredQuestion, question: AskedTogether, rules: Rules
) -> None:
    """Refuse quantiles beside other counts of the same column where small ones are left out: bins
    that are taken together, less those told one by one, would be these.
    """
    names = {earlier.name, question.question.name}
    # no count is small then, or the difference is about other parties
    if rules.least_records <= 1 or set(earlier.parties) != set(question.parties):
        return
    if (
        "quantiles" in names
        and names & {"histogram", "contingency_table"}
        and _leaves_out(earlier.answer)
    ):
        raise ReleaseRefused(
            "the rule 'differencing' refuses: an earlier answer about the same column hides small "
            "counts or joins bins, and both answers would reveal them; use the earlier answer, or "
            "ask with noise"
        )


def _leaves_out(answer: Fields | None) -> bool:
    """Whether small counts are left out of an answer, or bins taken together; of an answer that
    never came nobody knows, and older ones say 0 for what is left out.
    """
    if answer is None or answer.get("joined", 1) > 1:
        return True
    counts = answer.get("counts", [])
    if isinstance(counts, Mapping):
        waiting = list(counts.values())
    else:
        waiting = [counts]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting += item
        elif not item:
            return True
    return False


def _rows_name(content: bytes) -> str:
    return f"{hashlib.sha256(content).hexdigest()[:32]}.rows"


def _digest(plain: Fields) -> str:
    return hashlib.sha256(
        json.dumps(plain, sort_keys=True, ensure_ascii=False).encode()
    ).hexdigest()
