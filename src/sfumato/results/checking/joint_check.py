"""What the outputs of a session tell together, from what is kept beside its log: the same for a
session that goes on, a review, a release and its verification.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.core.words import inflect
from sfumato.results.checking.differences import (
    LIMITED,
    JointFinding,
    OutputSets,
    RecordOwners,
    few_told_together,
)
from sfumato.results.checking.output_pairs import SAME_RECORDS, in_ranges, unpacked
from sfumato.results.checking.record_sets import CELL, RecordSet, unpacked_sets
from sfumato.results.checking.verdict import (
    OutputReason,
    OutputRules,
    broken,
    open_question,
    passed,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.results.checking.log import LoggedOutput, OutputLog

TOGETHER = (
    f"{SAME_RECORDS}; or protect them together: sf.tabulate(data, [['a', 'b'], ['a']],"
    " ...).protect()"
)


def packed_people(who: NDArray[np.int64]) -> bytes:
    """Per record the number of its person, as it is kept.

    >>> unpacked_people(packed_people(np.array([0, 1, 1]))).who.tolist()
    [0, 1, 1]
    """
    return zlib.compress(who.astype("<u4").tobytes(), 6)


def unpacked_people(content: bytes) -> RecordOwners:
    """The inverse of :func:`packed_people`."""
    return RecordOwners(np.frombuffer(zlib.decompress(content), dtype="<u4").astype(np.int64))


def people_of(log: OutputLog) -> RecordOwners | None:
    """Whose the records of a session are; None where it has none, or was begun before that was
    kept.
    """
    content = log.people()
    return None if content is None else unpacked_people(content)


def sets_of(log: OutputLog, logged: LoggedOutput, records: int) -> OutputSets | None:
    """The cells of an output; where only the whole of its records is known, that. None where not
    even this is.
    """
    content = log.cells(logged)
    if content is not None:
        return OutputSets(logged.number, unpacked_sets(content, records))
    sample = log.sample(logged)
    if sample is None:
        return None
    return OutputSets(
        logged.number, [RecordSet((CELL,), np.flatnonzero(unpacked(sample, records)))]
    )


def told_together(
    before: Sequence[OutputSets], new: OutputSets, people: RecordOwners, rules: OutputRules
) -> list[OutputReason]:
    """What a new output tells of few persons beside those before it, in words."""
    groups = few_told_together(before, [new], people, rules.threshold)
    return [
        _in_words(one, [number for number in one.outputs if number != new.number], rules)
        for one in groups
    ]


def _in_words(finding: JointFinding, others: Sequence[int], rules: OutputRules) -> OutputReason:
    few = f"fewer than {rules.threshold} persons"
    outputs_in_words = f"{inflect(len(others), 'output')} {in_ranges(others)}"
    beside = f"its cells and those of {outputs_in_words}" if others else "its own cells"
    if finding.kind == "sum":
        return broken("difference", f"sums and differences of {beside} are about {few}", TOGETHER)
    if finding.kind == "bound":
        return broken(
            "difference", f"the counts of {beside} together tell that a group is of {few}", TOGETHER
        )
    if finding.kind == "near":
        words = f"a cell of it and one of {outputs_in_words} are of the same records but for {few}"
        return open_question("difference", words, SAME_RECORDS)
    if finding.kind == "open":
        words = f"whether {beside} together tell of {few} was not settled"
        return open_question("difference", words, TOGETHER)
    reasons = {
        "sums": "all sums and differences of cells were looked at, and not how small counts can be",
        "fours": "sums and differences of up to four cells were looked at, not all",
        "pairs": "differences of two cells were looked at, not all",
    }[finding.kind]
    words = (
        f"beside other outputs {reasons}: there are too many groups of records that are in the same"
        " cells"
    )
    return passed("difference", words)


class UnseenDifferences(NamedTuple):
    """Outputs that together tell of few persons although nobody was told so, and outputs of which
    it is not known with which records they were made.
    """

    outputs: tuple[tuple[int, ...], ...]
    unknown: tuple[int, ...]


def unseen_differences(log: OutputLog, numbers: Collection[int]) -> UnseenDifferences:
    """What outputs that would leave tell of few persons together, where their own reasons do not
    say it.

    An output is compared with all before it, but for those that were refused then. Where others
    leave than it was compared with (a refused one is approved after all, or one that told the same
    is refused), nobody has seen just these together: they are compared now.
    """
    leaving = [one for one in log.outputs if one.number in numbers]
    people = people_of(log)
    unknown = [
        one.number
        for one in leaving
        if one.cells is None and not _says(one, ("difference", "records"))
    ]
    if people is None or len(leaving) < 2:
        return UnseenDifferences((), tuple(unknown) if len(leaving) > 1 else ())
    threshold = OutputRules(**log.terms.rules).threshold
    groups = []
    for one in leaving:
        before = [other for other in leaving if other.number < one.number]
        compared = set(range(1, one.number)) - log.refused_before(one.number)
        own = (
            None
            if {other.number for other in before} == compared
            else sets_of(log, one, len(people.who))
        )
        if own is None:
            continue
        sets = [sets_of(log, other, len(people.who)) for other in before]
        for part in few_told_together(
            [other for other in sets if other is not None], [own], people, threshold
        ):
            reported = _says(one, ("difference",)) and set(part.outputs) - {one.number} <= compared
            if part.kind not in LIMITED and not reported:
                groups.append(part.outputs)
    return UnseenDifferences(tuple(dict.fromkeys(groups)), tuple(unknown))


def _says(logged: LoggedOutput, rules: Collection[str]) -> bool:
    """Whether an output has a reason by one of some rules that is no pass."""
    return any(
        one["rule"] in rules and one["status"] != "pass" for one in logged.verdict["reasons"]
    )
