"""What the released cells of a column still say, per distinct pair of original value and released
label."""

from __future__ import annotations

import sfumato as sf
from sfumato.core.pair import TablePair
from sfumato.methods.utility.cells import cells_of


def test_levels_of_what_no_level_has():
    people = sf.examples.patients()
    pair = TablePair.of(people, sf.examples.patients(release="multi"))
    cells = cells_of(pair, "age")
    assert cells.column_level is None
    # [25-26] and [27-28] are nodes of level 1; [25-27] has its lowest common node on level 2, the
    # top
    found = {
        cells.reading.labels[label]: height
        for label, height in zip(cells.label, cells.height, strict=True)
    }
    assert found == {"[25-26]": 0.5, "[27-28]": 0.5, "[25-27]": 1.0}
