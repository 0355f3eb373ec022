"""What the outputs of a session tell together, from what is kept beside its log: the same for a session that goes on, a review, a release and its verification."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.outputs.checking.comparing import SAME_RECORDS, in_ranges, unpacked
from sfumato.outputs.checking.differences import (
    MOST_ATOMS,
    MOST_CELLS,
    Finding,
    OutputSets,
    People,
    few_told_together,
)
from sfumato.outputs.checking.record_sets import CELL, RecordSet, unpacked_sets
from sfumato.outputs.checking.verdict import OutputReason, OutputRules, broken, open_question, passed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.outputs.checking.log import LoggedOutput, OutputLog

TOGETHER = f"{SAME_RECORDS}; or protect them together: sf.tabulate(data, [['a', 'b'], ['a']], ...).protect()"


def packed_people(who: NDArray[np.int64]) -> bytes:
    """Per record the number of its person, as it is kept.

    >>> unpacked_people(packed_people(np.array([0, 1, 1]))).who.tolist()
    [0, 1, 1]
    """
    return zlib.compress(who.astype("<u4").tobytes(), 6)


def unpacked_people(kept: bytes) -> People:
    """The inverse of :func:`packed_people`."""
    return People(np.frombuffer(zlib.decompress(kept), dtype="<u4").astype(np.int64))


def people_of(log: OutputLog) -> People | None:
    """Whose the records of a session are; None where it has none, or was begun before that was kept."""
    kept = log.people()
    return None if kept is None else unpacked_people(kept)


def sets_of(log: OutputLog, logged: LoggedOutput, records: int) -> OutputSets | None:
    """The cells of an output; where only the whole of its records is known, that. None where not even this is."""
    kept = log.cells(logged)
    if kept is not None:
        return OutputSets(logged.number, unpacked_sets(kept, records))
    sample = log.sample(logged)
    if sample is None:
        return None
    return OutputSets(logged.number, [RecordSet((CELL,), np.flatnonzero(unpacked(sample, records)))])


def told_together(
    before: Sequence[OutputSets], new: OutputSets, people: People, rules: OutputRules
) -> list[OutputReason]:
    """What a new output tells of few persons beside those before it, in words."""
    found = few_told_together(before, [new], people, rules.threshold)
    return [_in_words(one, [number for number in one.outputs if number != new.number], rules) for one in found]


def _in_words(finding: Finding, others: Sequence[int], rules: OutputRules) -> OutputReason:
    few = f"fewer than {rules.threshold} persons"
    named = f"output{'s' if len(others) > 1 else ''} {in_ranges(others)}"
    beside = f"its cells and those of {named}" if others else "its own cells"
    if finding.kind == "sum":
        return broken("difference", f"sums and differences of {beside} are about {few}", TOGETHER)
    if finding.kind == "bound":
        return broken("difference", f"the counts of {beside} together tell that a group is of {few}", TOGETHER)
    if finding.kind == "near":
        words = f"a cell of it and one of {named} are of the same records but for {few}"
        return open_question("difference", words, SAME_RECORDS)
    if finding.kind == "open":
        words = f"whether {beside} together tell of {few} was not settled"
        return open_question("difference", words, TOGETHER)
    of = "up to four" if finding.kind == "fours" else "two"
    words = f"beside other outputs sums and differences of {of} cells were looked at, not all: there are more than {MOST_ATOMS:,} groups of records, or {MOST_CELLS:,} cells"
    return passed("difference", words)


def unforeseen(log: OutputLog, numbers: Collection[int]) -> tuple[list[tuple[int, ...]], bool]:
    """Outputs that would leave and together tell of few persons, although nobody was told so when they were checked; and whether all of them could be compared.

    An output is compared with those before it, but for refused ones. Where one of these is approved after all, nobody has seen both together yet. Outputs whose own line says that they tell of
    few persons together with others are decided with that in sight.
    """
    people = people_of(log)
    leaving = [one for one in log.outputs if one.number in numbers]
    if people is None:
        return [], len(leaving) < 2
    threshold = OutputRules(**log.terms["rules"]).threshold
    known = [(one, sets_of(log, one, len(people.who))) for one in leaving]
    there = [sets for _, sets in known if sets is not None]
    complete = len(there) == len(leaving) or len(leaving) < 2
    together = few_told_together([], there, people, threshold)
    if not any(one.kind in ("sum", "bound", "near", "open") for one in together) and len(there) < 2:
        return [], complete
    found: list[tuple[int, ...]] = []
    before: list[OutputSets] = []
    for logged, sets in known:
        if sets is None:
            continue
        if not _says_so(logged):
            told = few_told_together(before, [sets], people, threshold)
            found += [one.outputs for one in told if one.kind in ("sum", "bound", "near", "open")]
        before.append(sets)
    return found, complete


def _says_so(logged: LoggedOutput) -> bool:
    """Whether the reasons of an output say that it tells something together with others."""
    return any(one["rule"] in ("difference", "linked") and one["status"] != "pass" for one in logged.verdict["reasons"])
