"""Data of other shapes than one table, from Python: one verb for every shape, and a short name for
each."""

from __future__ import annotations

import sfumato as sf
from sfumato import examples
from tests.data.baskets.test_baskets import rows


def test_from_python():
    people = sf.read_baskets(
        rows().drop("name"),
        {"person": "person", "item": "item"},
        columns=sf.ColumnDetails(hierarchies={"item": sf.tree(examples.set_valued.SEVEN)}),
    )
    release = sf.anonymize(
        people,
        meet=[sf.baskets.KmAnonymity(2, 2)],
        steps=[sf.baskets.ItemRecoding()],
        seed=1,
        options=sf.AnonymizeOptions(seconds=5),
    )
    assert release.holds
    assert release.released.labels == ("A", "B", "C")
    assert release.plot() is not None
