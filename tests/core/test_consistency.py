"""Which released classes a finer record could have become: the consistency graph."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.consistency import covering
from sfumato.core.hierarchy import bind


@given(
    st.lists(st.integers(-50, 50), min_size=1, max_size=8), st.integers(-50, 50), st.integers(0, 30)
)
def test_coverings_know_ranges(values, low, width):
    labels = [str(v) for v in sorted(set(values))]
    released = [f"[{low}, {low + width}]", "*"]
    found = covering(labels, released, bind(None, labels, [1] * len(labels)))
    for i, value in enumerate(labels):
        expected = [0, 1] if low <= int(value) <= low + width else [1]
        assert found.codes[found.starts[i] : found.starts[i + 1]].tolist() == expected
