"""Plans that say what the recipe's step cannot have done are contradicted; what steps say of their
own plans never is.
"""

from __future__ import annotations

from typing import Any

import pytest

from sfumato import examples
from sfumato.core.randomness import Seed
from sfumato.core.schema import Schema
from sfumato.core.step import Goal
from sfumato.data import baskets, graphs, paths, relational

NOTHING = Schema({})
SMALL_PATHS = (paths.LkcPrivacy(2, l=2),)


def described(step: Any, data: Any, *promises: Any) -> dict[str, Any]:
    """The plan of a step as a certificate tells it."""
    plan: dict[str, Any] = step.plan(data, Goal(models=promises, seed=Seed(3))).describe()
    assert [field for field in step.tells if field not in plan] == []
    assert step.contradicted(plan, NOTHING, None) is None
    return plan


@pytest.mark.parametrize("how", ["global", "local"])
def test_points_that_were_deleted_otherwise(how: Any) -> None:
    step = paths.PointSuppression(how, budget=0.9)
    plan = described(step, examples.small_paths(), *SMALL_PATHS)
    assert plan["points_deleted"] > 0
    for edit in ({"how": "elsewhere"}, {"share_deleted": 0.95}, {"points_deleted": 0}):
        assert step.contradicted({**plan, **edit}, NOTHING, None) is not None


def test_levels_of_paths_that_the_recipe_does_not_take() -> None:
    step = paths.PathRecoding(place_level=0)
    plan = described(step, examples.small_paths(), paths.LkcPrivacy(2, l=1))
    for edit in ({"place_level": 1}, {"time_width": "7d"}):
        assert step.contradicted({**plan, **edit}, NOTHING, None) is not None


def test_ties_that_went_though_none_may() -> None:
    step = graphs.DegreeAnonymization(2, with_attributes=False)
    plan = described(step, examples.karate())
    assert step.contradicted({**plan, "removed_edges": 3}, NOTHING, None) is not None
    deleting = graphs.DegreeAnonymization(2, deletions=True, with_attributes=False)
    assert deleting.contradicted({**plan, "removed_edges": 3}, NOTHING, None) is None


def test_keys_that_are_said_to_be_cut_or_keyed() -> None:
    step = relational.KeyPseudonyms()
    plan = {"split": False, "keyed": False, "tables": 3}
    assert step.contradicted(plan, NOTHING, None) is None
    for edit in ({"split": True}, {"keyed": True}):
        assert step.contradicted({**plan, **edit}, NOTHING, None) is not None


def test_steps_of_baskets_tell_what_they_say_they_tell() -> None:
    people = examples.baskets()
    described(baskets.ItemRecoding(), people, baskets.KmAnonymity(2, 2))
    described(baskets.BasketPartition(), people, baskets.BasketKAnonymity(2))
    described(baskets.BlockRecoding(size=5), people, baskets.KmAnonymity(2, 2))
    described(baskets.SuppressItems(), people, baskets.HkpCoherence(0.8, 2, 2, ["c2"]))
    described(baskets.Disassociation(), people, baskets.DisassociatedKm(2, 2))
