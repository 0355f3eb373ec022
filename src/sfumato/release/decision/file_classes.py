"""The classes of a released table, counted for its smallest one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.methods.attacks.crowd import alike_records
from sfumato.release.assessment import assess
from sfumato.release.decision.evidence import FileEvidence

if TYPE_CHECKING:
    from sfumato.core.pair import TablePair
    from sfumato.core.table import Table


def file_evidence(judged: Table, pair: TablePair | None = None) -> FileEvidence:
    """The classes of a released table; by persons where it names them.

    Where it does not, ``pair`` tells who is who: then they are counted by it.
    """
    quasi = tuple(judged.schema.quasi)
    if pair is not None and pair.persons is not None and judged.schema.person is None:
        return _counted_by_owner(pair, quasi, judged.records)
    if not quasi:
        people = judged.records
        return FileEvidence(judged.records, None, int(people > 0), people, quasi)
    assessment = assess(judged)
    persons = assessment.persons
    if pair is not None and pair.persons is not None and pair.aligned:
        # The file numbers people again in every class: the owner knows how many there are.
        persons = len(np.unique(pair.persons[pair.rows]))
    return FileEvidence(
        records=assessment.records,
        persons=persons,
        classes=assessment.classes,
        smallest_class=assessment.smallest_class or 0,
        quasi=quasi,
    )


def _counted_by_owner(pair: TablePair, quasi: tuple[str, ...], records: int) -> FileEvidence:
    """Classes counted by persons that the file does not name."""
    if not pair.aligned or pair.persons is None:
        return FileEvidence(records, None, 0, 0, quasi)
    classes = np.zeros(len(pair.rows), dtype=np.int64)
    if quasi:
        classes = alike_records(pair, quasi).kind_of
    persons = pair.persons[pair.rows]
    members = np.unique(np.column_stack([classes, persons]), axis=0)
    sizes = np.bincount(members[:, 0])
    sizes = sizes[sizes > 0]
    smallest = int(sizes.min()) if len(sizes) else 0
    return FileEvidence(records, len(np.unique(persons)), len(sizes), smallest, quasi)
