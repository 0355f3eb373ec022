"""One column as the intruder has it and as it is released, in terms that can be compared."""

from __future__ import annotations

from sfumato.methods.attacks.linkage.distance_linkage import DistanceLinkage
from tests.methods.attacks.linkage_scenes import numbers, scene_of


def test_own_standards_see_through_a_change_of_scale():
    x, _ = numbers(2, 40, 2)
    scene = scene_of(x, {name: 3 * values + 7 for name, values in x.items()})
    assert DistanceLinkage(standard="own").attack(scene).value == 1.0
    assert DistanceLinkage(standard="released").attack(scene).value < 0.5


def test_a_register_with_values_the_table_does_not_have():
    scene = scene_of(
        {"c1": ["a", "b"], "n1": ["1", "2"]},
        {"c1": ["a", "b"], "n1": ["1", "2"]},
        intruder={"c1": ["a", "zz"], "n1": ["1", "not a number"]},
    )
    assert DistanceLinkage().attack(scene).value == 0.75
