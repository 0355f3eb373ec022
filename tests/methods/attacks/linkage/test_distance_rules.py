"""Rules that make a distance of two records of the differences of their cells."""

from __future__ import annotations

import pytest

from sfumato.methods.attacks.linkage.distance_linkage import DistanceLinkage
from tests.methods.attacks.linkage_scenes import scene_of


@pytest.mark.parametrize(("suppressed", "value"), [("zero", 0.5), ("mean", 1.0)])
def test_a_suppressed_cell_is_near_everybody_or_nobody(suppressed, value):
    original = {"c1": ["a", "b", "c", "d"], "n1": [0.0, 0.0, 0.0, 0.0]}
    scene = scene_of(
        original,
        {"c1": ["a", "b", "*", "*"], "n1": [0.0] * 4},
        intruder={"c1": ["a", "b"], "n1": [0.0, 0.0]},
    )
    found = DistanceLinkage(suppressed=suppressed).attack(scene)
    assert found.value == pytest.approx(1 / 3 if suppressed == "zero" else value)


def test_missing_equals_missing_or_everything():
    original = {"c1": ["a", "b", None], "c2": ["x", "x", "x"]}
    release = {"c1": ["a", None, None], "c2": ["x", "x", "x"]}
    assert DistanceLinkage().attack(scene_of(original, release)).value == pytest.approx(
        (1 + 1 / 3 + 1 / 2) / 3
    )
    wild = DistanceLinkage().attack(scene_of(original, release, wildcard=["c1"]))
    assert wild.value == pytest.approx((1 / 3 + 1 / 2 + 1 / 3) / 3)
