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
    find_joint_disclosures,
)
from sfumato.results.checking.output_pairs import SAME_RECORDS, in_ranges, unpack_sample
from sfumato.results.checking.record_sets import CELL, RecordSet, unpack_sets
from sfumato.results.checking.verdict import (
    OutputReason,
    OutputRules,
    confirmation,
    open_question,
    violation,
)

if TYPE_CHECKING:
    from sfumato.results.checking.log import LoggedOutput, OutputLog
    from sfumato.results.tables.arrays import Codes

TOGETHER = (
    f"{SAME_RECORDS}; or protect them together: sf.tabulate(data, [['a', 'b'], ['a']],"
    " ...).protect()"
)


def pack_owners(person_ids: Codes) -> bytes:
    """Per record the number of its person, as it is kept.

    >>> unpack_owners(pack_owners(np.array([0, 1, 1]))).person_ids.tolist()
    [0, 1, 1]
    """
    # Four bytes of fixed order: the file is read on other machines, too.
    return zlib.compress(person_ids.astype("<u4").tobytes(), 6)


def unpack_owners(content: bytes) -> RecordOwners:
    """The inverse of :func:`pack_owners`."""
    return RecordOwners(np.frombuffer(zlib.decompress(content), dtype="<u4").astype(np.int64))


def read_sets(log: OutputLog, logged: LoggedOutput, records: int) -> OutputSets | None:
    """The cells of an output; where only the whole of its records is known, that. None where not
    even this is.
    """
    content = log.cells(logged)
    if content is not None:
        return OutputSets(logged.number, unpack_sets(content, records))
    sample = log.sample(logged)
    if sample is None:
        return None
    rows = np.flatnonzero(unpack_sample(sample, records))
    # Compared as one cell only: what is added up over it is not known.
    return OutputSets(logged.number, [RecordSet((CELL,), rows)])


def judge_together(
    before: Sequence[OutputSets], new: OutputSets, owners: RecordOwners, rules: OutputRules
) -> list[OutputReason]:
    """What a new output tells of few persons beside those before it, in words."""
    findings = find_joint_disclosures(before, [new], owners, rules.threshold)
    return [_describe_finding(finding, new.number, rules) for finding in findings]


def _describe_finding(finding: JointFinding, new: int, rules: OutputRules) -> OutputReason:
    few_persons = f"fewer than {rules.threshold} persons"
    other_numbers = [number for number in finding.outputs if number != new]
    other_outputs = f"{inflect(len(other_numbers), 'output')} {in_ranges(other_numbers)}"
    if other_numbers:
        cells = f"its cells and those of {other_outputs}"
    else:
        cells = "its own cells"
    if finding.kind == "sum":
        words = f"sums and differences of {cells} are about {few_persons}"
        return violation("difference", words, TOGETHER)
    if finding.kind == "bound":
        words = f"the counts of {cells} together reveal a group of {few_persons}"
        return violation("difference", words, TOGETHER)
    if finding.kind == "near":
        words = (
            f"a cell of it and one of {other_outputs} have the same records except for "
            f"{few_persons}"
        )
        return open_question("difference", words, SAME_RECORDS)
    if finding.kind == "open":
        words = f"whether {cells} together reveal {few_persons} was not settled"
        return open_question("difference", words, TOGETHER)
    # These say how far was looked, so they are no objection.
    extent = {
        "sums": "all sums and differences of cells were examined, but not how small counts can be",
        "fours": "sums and differences of up to four cells were examined, not all",
        "pairs": "differences of two cells were examined, not all",
    }[finding.kind]
    words = f"beside other outputs {extent}: there are too many groups of records in the same cells"
    return confirmation("difference", words)


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
    leaving = [output for output in log.outputs if output.number in numbers]
    if len(leaving) < 2:
        return UnseenDifferences((), ())
    without_cells = [output for output in leaving if output.cells is None]
    unknown = [
        output.number
        for output in without_cells
        if not _has_reason(output, ("difference", "records"))
    ]
    content = log.people()
    if content is None:  # a session without records
        return UnseenDifferences((), tuple(unknown))
    owners = unpack_owners(content)
    records = len(owners.person_ids)
    threshold = OutputRules(**log.terms.rules).threshold
    unseen = []
    for position, output in enumerate(leaving):
        before = leaving[:position]
        # All outputs before it that were not refused at that time.
        compared = set(range(1, output.number)) - log.refused_before(output.number)
        # Exactly these were compared when it was added, and its reasons say what was found.
        if {earlier.number for earlier in before} == compared:
            continue
        new = read_sets(log, output, records)
        if new is None:
            continue
        sets_before = [read_sets(log, earlier, records) for earlier in before]
        old = [sets for sets in sets_before if sets is not None]
        for finding in find_joint_disclosures(old, [new], owners, threshold):
            other_numbers = set(finding.outputs) - {output.number}
            # A finding with an output that it was not compared with is new, whatever its reasons
            # say.
            reported = _has_reason(output, ("difference",)) and other_numbers <= compared
            if finding.kind not in LIMITED and not reported:
                unseen.append(finding.outputs)
    return UnseenDifferences(tuple(dict.fromkeys(unseen)), tuple(unknown))


def _has_reason(logged: LoggedOutput, rules: Collection[str]) -> bool:
    """Whether an output has a reason by one of some rules that is no pass."""
    for reason in logged.verdict["reasons"]:
        if reason["rule"] in rules and reason["status"] != "pass":
            return True
    return False
