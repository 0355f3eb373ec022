"""Groups of categories as somebody changes them by hand: values are moved, groups are made and
renamed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.hierarchy import Hierarchy
from sfumato.errors import ParameterError, SfumatoError
from sfumato.interfaces.web.groups import Grouping


@given(st.data())
def test_groups_stay_sound_whatever_is_moved(data: st.DataObject) -> None:
    """Every value stays, once; a value that was moved stands in the group it was moved to, and no
    other value does anything.
    """
    hierarchy: Hierarchy = sf.tree(
        {"*": {"A": {"a1": ["a", "b"]}, "B": {"b1": ["c"], "b2": ["d"]}}}
    )
    counts = {"a": 1, "b": 2, "c": 3, "d": 4}
    grouping = Grouping.of(hierarchy, counts)
    for _ in range(data.draw(st.integers(1, 4))):
        level = data.draw(st.integers(1, grouping.depth - 1))
        members = sorted({row[level - 1] for row in grouping.rows})
        chosen = data.draw(st.lists(st.sampled_from(members), min_size=1, unique=True))
        names = [*sorted({row[level] for row in grouping.rows} - {grouping.top}), "new 1", "new 2"]
        to = data.draw(st.sampled_from(names))
        before = {row[0]: row for row in grouping.rows}
        moved = grouping.changed("move", level, members=chosen, to=to)
        try:
            made = moved.hierarchy()
        except SfumatoError:
            continue  # a name that stands for two things on one level is refused
        for row in moved.rows:
            old = before[row[0]]
            if old[level - 1] in chosen:
                assert row[level] == to and row[:level] == old[:level]
            else:
                assert row[:level] == old[:level]
        assert sorted(row[0] for row in moved.rows) == ["a", "b", "c", "d"]
        assert set(made.paths(["a", "b", "c", "d"], [1] * 4).rows) == set(moved.rows)
        grouping = moved


def test_too_many_values_are_not_grouped_by_hand() -> None:
    with pytest.raises(ParameterError, match="too many"):
        Grouping.of(sf.suppress(), {str(n): 1 for n in range(6000)})
