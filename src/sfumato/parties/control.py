"""What may leave: the rules at home, before anything is sent, and those that all compute together, before anything is opened.

==================== ==================================================================== ==============
rule                 refuses when                                                         where
==================== ==================================================================== ==============
``two_parties``      fewer parties than the study's least                                 the study
``few_own``          the party has fewer records than it asks of itself                   at home
``few_records``      all together have fewer records than the least                       together
``few_contributors`` fewer parties than the least have a record                           together
``small_cells``      a count is not 0 and below the least: it is left out                 together
``dominance``        of a sum of amounts, all but the two largest say too little          together
``differencing``     an earlier answer differs by few parties, or by few own rows         at home
``asked_before``     the same was answered: the old answer comes again, nothing is sent   at home
``equations``        too many numbers were opened about these rows                        at home
==================== ==================================================================== ==============

With noise inside, its budget replaces small_cells, dominance, differencing and equations. Gates computed together tell one bit: which
of them failed is not learned.
"""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import json
import os
from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field as Limit

from sfumato.core.parameters import parameters
from sfumato.core.portable import open_private
from sfumato.dp.ledger import START, checked_lines, hold_alone, mended, sealed, write_through
from sfumato.errors import Declined, OutputError, ReleaseRefused
from sfumato.parties.arithmetic import Arithmetic, all_at_least
from sfumato.parties.channel import Phase
from sfumato.parties.kinds import question_to
from sfumato.parties.question import JointQuestion, Magnitudes, Meeting, canonical_rows
from sfumato.parties.signs import negative

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset


@parameters
class Rules:
    """The least that an answer rests on."""

    least_records: Annotated[int, Limit(ge=1, description="records of all parties together, and in every count")] = 10
    least_parties: Annotated[int, Limit(ge=2, description="parties, and parties that have a record")] = 3
    least_own: Annotated[int, Limit(ge=0, description="records a party must have to take part")] = 1
    dominance: Annotated[
        int, Limit(ge=0, le=100, description="percent of the largest amount that the others must cover")
    ] = 10


MOST_OF_FEW = 10
"""So many numbers may be opened however few rows there are; beyond, one for every ten records."""


# What all compute together before anything is opened.


async def require_enough(question: JointQuestion, people: Dataset, meeting: Meeting, rules: Rules) -> None:
    """Refuse, all at once and by one bit, where too few records or parties are behind the answer."""
    amounts = None if meeting.noise else question.magnitudes(people, meeting.records_at_most)
    await enough(int(question.rows(people).sum()), amounts, meeting, rules)


async def enough(own: int, amounts: Magnitudes | None, meeting: Meeting, rules: Rules) -> None:
    """The same of a number of own records, and of own amounts where one could dominate."""
    arithmetic = Arithmetic(meeting.channel, meeting.degree, meeting.draw)
    if not await all_at_least(arithmetic, [(own, rules.least_records), (min(own, 1), rules.least_parties)]):
        raise ReleaseRefused(
            f"the rule 'few_records' or 'few_contributors' refuses: an answer needs at least {rules.least_records} records, of at "
            f"least {rules.least_parties} parties; nobody learns which it was"
        )
    if amounts is not None and await _dominated(amounts, meeting, rules):
        raise ReleaseRefused(
            "the rule 'dominance' refuses: all amounts but the two largest are so small that one of the two could be told from the sum"
        )


async def _dominated(own: Magnitudes, meeting: Meeting, rules: Rules) -> bool:
    """Whether for two contributors u, w the rest X − u − w is below p percent of u; contributors are parties, and records."""
    if rules.dominance == 0:
        return False
    channel = meeting.channel
    arithmetic = Arithmetic(channel, meeting.degree, meeting.draw, phase=Phase.GATES)
    mine = np.zeros((3, channel.parties), dtype=np.int64)
    mine[:, channel.number] = own.total, *own.largest
    shares = (await arithmetic.shared(mine.ravel())).reshape(3, channel.parties)
    pairs = [pair for group in (shares[0], shares[1:].ravel()) for pair in permutations(group, 2)]
    first, second = np.array(pairs, dtype=np.uint64).T
    total = np.repeat(arithmetic.sums(shares[:1]), len(pairs))
    weighted = [(total, 100), (second, -100), (first, -100 - rules.dominance)]
    tested = arithmetic.sums(np.stack([arithmetic.scaled(amount, weight) for amount, weight in weighted], axis=1))
    bad = await negative(arithmetic, tested)
    none_bad = await arithmetic.all_multiplied(arithmetic.plus(arithmetic.scaled(bad, -1), 1))
    return bool((await arithmetic.zeros(none_bad))[0])


# What is known at home of earlier answers.


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class AskedTogether:
    """A question of certain parties about one's own rows: ``rows`` are keyed hashes of those that count."""

    question: JointQuestion
    parties: tuple[str, ...]
    dataset: str
    rows: NDArray[np.uint64]
    noisy: bool

    @classmethod
    def of(
        cls, question: JointQuestion, parties: Sequence[str], dataset: str, people: Dataset, key: bytes, *, noisy: bool
    ) -> AskedTogether:
        """Hash the rows that count with the owner's key."""
        marks = row_marks(question, people, key)
        return cls(question, tuple(sorted(parties)), dataset, marks, noisy)

    @property
    def key(self) -> str:
        """What makes it the same question."""
        return _digest({"question": question_to(self.question), "dataset": self.dataset})

    @property
    def family(self) -> str:
        """What it has in common with the same question under another filter."""
        [(name, details)] = question_to(self.question).items()
        return _digest(
            {"question": {name: {k: v for k, v in details.items() if k != "where"}}, "dataset": self.dataset}
        )


def row_marks(question: JointQuestion, people: Dataset, key: bytes) -> NDArray[np.uint64]:
    """A keyed hash of 64 bits for every row that counts, sorted; equal rows have equal marks."""
    kept = np.flatnonzero(question.rows(people))
    wanted = [name for name in question.columns if name not in question.filters] or list(question.columns)
    if not wanted:
        return np.zeros(len(kept), dtype=np.uint64)
    texts = json.loads(canonical_rows(people.take(kept), wanted))
    marks = [hmac.new(key, text.encode(), hashlib.sha256).digest()[:8] for text in texts]
    return np.sort(np.frombuffer(b"".join(marks), dtype="<u8"))


def rows_between(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> int:
    """How many rows are in one of two sets and not in the other, equal rows counted as often as they occur."""
    names, where = np.unique(np.concatenate([one, other]), return_inverse=True)
    counts = [np.bincount(part, minlength=len(names)) for part in np.split(where.ravel(), [len(one)])]
    return int(np.abs(counts[0] - counts[1]).sum())


class Answered:
    """A party's own store of what was answered: lines that only grow, each with the hash of the one before, and marks of the rows.

    Locked while a question is checked and written down, so that two questions cannot pass each other.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.path = self.folder / "answered.jsonl"

    def stored(self, asked: AskedTogether) -> dict[str, Any] | None:
        """The answer to the same question of the same parties about the same rows (``asked_before``)."""
        for line in self._lines():
            if (
                line.get("answered") == asked.key
                and tuple(line["parties"]) == asked.parties
                and self._same(line, asked)
            ):
                answer: dict[str, Any] = line["answer"]
                return answer
        return None

    def require_new(self, asked: AskedTogether, rules: Rules) -> None:
        """Refuse what earlier answers would undo: ``few_own``, ``differencing`` and ``equations``."""
        if len(asked.rows) < rules.least_own:
            raise Declined("the rule 'few_own' declines: this party has fewer records than it asks of itself")
        if asked.noisy:
            return
        opened = asked.question.numbers_opened
        for line in self._lines():
            if line.get("noisy") or line.get("dataset") != asked.dataset:
                continue
            opened += line["opened"]
            if line["family"] == asked.family:
                self._require_apart(line, asked, rules)
        most = max(len(asked.rows) * len(asked.parties) // 10, MOST_OF_FEW)
        if asked.question.numbers_opened and opened > most:
            raise ReleaseRefused(
                f"the rule 'equations' refuses: {opened} numbers would be opened about rows for which {most} are the most; ask with noise"
            )

    def _require_apart(self, line: Mapping[str, Any], asked: AskedTogether, rules: Rules) -> None:
        differing = set(line["parties"]) ^ set(asked.parties)
        if 0 < len(differing) < rules.least_parties:
            raise ReleaseRefused(
                f"the rule 'differencing' refuses: the same was answered for parties that differ by {len(differing)}, and the difference of "
                "both answers would be about them alone"
            )
        between = rows_between(self._marks(line), asked.rows)
        if not differing and 0 < between < rules.least_records:
            raise ReleaseRefused(
                f"the rule 'differencing' refuses: an earlier answer rests on rows that differ in fewer than {rules.least_records} of ours"
            )

    def record(self, asked: AskedTogether, answer: Mapping[str, Any], study: str) -> None:
        """Write down what was answered."""
        name = f"{hashlib.sha256(asked.rows.tobytes()).hexdigest()[:32]}.rows"
        if not (self.folder / name).exists():
            self._keep(name, asked.rows)
        entry = {
            "answered": asked.key, "family": asked.family, "study": study, "parties": list(asked.parties), "dataset": asked.dataset,
            "rows": name, "noisy": asked.noisy, "opened": asked.question.numbers_opened, "answer": dict(answer),
        }  # fmt: skip
        file = open_private(self.path, os.O_RDWR | os.O_APPEND)
        try:
            hold_alone(file)
            content = mended(file)
            last = checked_lines(content, self.path)[-1]["hash"] if content else START
            write_through(file, json.dumps(sealed(entry, last)).encode() + b"\n")
        finally:
            os.close(file)

    def _keep(self, name: str, rows: NDArray[np.uint64]) -> None:
        try:
            file = open_private(self.folder / name, os.O_WRONLY)
            try:
                write_through(file, rows.astype("<u8").tobytes())
            finally:
                os.close(file)
        except OSError as error:
            raise OutputError(
                f"what was answered cannot be written down ({error.strerror}), so nothing is asked"
            ) from None

    def _lines(self) -> list[dict[str, Any]]:
        if not self.path.exists() or not (content := self.path.read_bytes()):
            return []
        return checked_lines(content, self.path)

    def _marks(self, line: Mapping[str, Any]) -> NDArray[np.uint64]:
        return np.frombuffer((self.folder / Path(str(line["rows"])).name).read_bytes(), dtype="<u8")

    def _same(self, line: Mapping[str, Any], asked: AskedTogether) -> bool:
        return np.array_equal(self._marks(line), asked.rows)


def _digest(plain: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(plain, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
