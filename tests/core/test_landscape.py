"""What a landscape shows of its nodes, against definitions written down naively."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.objective import AXES, RISKS, Landscape
from sfumato.errors import ParameterError


@st.composite
def landscapes(draw: st.DrawFn) -> Landscape:
    """A lattice of two columns with figures that have ties and nodes that release nothing."""
    tops = draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    levels = np.array(list(itertools.product(*(range(top + 1) for top in tops))), dtype=np.int16)
    size = len(levels)

    def few(*values: float) -> np.ndarray:
        return np.array(draw(st.lists(st.sampled_from(values), min_size=size, max_size=size)))

    classes = few(0, 1, 4, 9).astype(np.int64)
    return Landscape(
        columns=("a", "b"),
        low=(0, 0),
        high=tops,
        tops=tops,
        objective="loss",
        minimal=False,
        records=100,
        budget=draw(st.integers(0, 60)),
        whole=True,
        levels=levels,
        score=few(0.1, 0.2, 0.5, 0.9),
        suppressed=few(0, 10, 50).astype(np.int64),
        classes=classes,
        squares=np.ones(size),
        precision=np.ones(size),
        marketer_risk=np.where(classes > 0, few(0.01, 0.1, 0.5), 0.0),
        prosecutor_risk=np.where(classes > 0, few(0.1, 0.2, 1.0), 0.0),
    )


axes = st.tuples(st.sampled_from(AXES), st.sampled_from(AXES)).filter(lambda two: two[0] != two[1])


@given(landscapes(), axes)
def test_nothing_within_the_budget_beats_a_point_of_the_staircase(
    landscape: Landscape, two: tuple[str, str]
) -> None:
    cost, risk = (getattr(landscape, name) for name in two)
    allowed = [
        i
        for i in range(len(landscape))
        if landscape.suppressed[i] <= landscape.budget and landscape.classes[i] > 0
    ]
    beaten = {
        i
        for i in allowed
        for j in allowed
        if cost[j] <= cost[i] and risk[j] <= risk[i] and (cost[j] < cost[i] or risk[j] < risk[i])
    }
    wanted = {(float(cost[i]), float(risk[i])) for i in allowed if i not in beaten}
    found = [(float(cost[i]), float(risk[i])) for i in landscape.trade_off(two[1], two[0]).tolist()]
    assert found == sorted(wanted)


@given(landscapes(), axes, st.tuples(st.integers(1, 5), st.integers(1, 5)))
def test_dots_stand_for_all_nodes_that_release_something(
    landscape: Landscape, two: tuple[str, str], cells: tuple[int, int]
) -> None:
    nodes, times = landscape.thinned(*two, cells)
    assert times.sum() == (landscape.classes > 0).sum() and len(set(nodes.tolist())) == len(nodes)
    assert all(landscape.classes[node] > 0 for node in nodes.tolist())
    assert len(nodes) <= 2 * cells[0] * cells[1]
    within = landscape.feasible()
    assert times[within[nodes]].sum() == within.sum()


@given(landscapes(), axes, st.floats(0.001, 1), st.floats(0.001, 1))
def test_what_is_near_is_nearer_than_all_others(
    landscape: Landscape, two: tuple[str, str], x: float, y: float
) -> None:
    near = landscape.near(*two, (x, y), 3).tolist()
    shown = [i for i in range(len(landscape)) if landscape.classes[i] > 0]
    assert len(near) == min(3, len(shown)) and set(near) <= set(shown)

    def far(node: int) -> float:
        total = 0.0
        for name, value in zip(two, (x, y), strict=True):
            take = math.log if name in RISKS else float
            every = [take(getattr(landscape, name)[i]) for i in shown]
            total += (
                (take(getattr(landscape, name)[node]) - take(value))
                / (max(every) - min(every) or 1.0)
            ) ** 2
        return total

    rest = [far(i) for i in shown if i not in near]
    assert not rest or max(map(far, near)) <= min(rest) * (1 + 1e-9) + 1e-12


def test_an_axis_that_is_none_is_named() -> None:
    example = Landscape(
        ("a",),
        (0,),
        (0,),
        (0,),
        "loss",
        False,
        1,
        0,
        True,
        np.zeros((1, 1), dtype=np.int16),
        *(np.ones(1) for _ in range(7)),
    )  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'marketer' is not an axis"):
        example.along("marketer")
