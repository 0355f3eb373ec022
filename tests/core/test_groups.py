"""Groups that lie one after the other, against lists."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.core.groups import group_starts, places_in_groups


@pytest.mark.parametrize("sizes", [[], [0], [3], [2, 0, 1], [0, 0, 4]])
def test_starts_and_places_are_those_of_the_lists_one_after_the_other(sizes):
    groups = [list(range(size)) for size in sizes]
    starts = group_starts(sizes)
    members = [member for group in groups for member in group]
    assert starts.dtype == np.int64
    assert [starts[i + 1] - starts[i] for i in range(len(sizes))] == sizes
    assert starts[-1] == len(members)
    assert places_in_groups(np.array(sizes, dtype=np.int64)).tolist() == members
