"""Distance-based linkage, against its definition row by row and on data built to be safe or not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.attack import Attack
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.attacks.linkage.distance_linkage import DistanceLinkage
from tests.methods.attacks.linkage_scenes import numbers, scene_of, shuffled


def test_a_release_of_unique_rows_as_they_are_is_linked_whole():
    original, _ = numbers(1, 80, 3)
    finding = DistanceLinkage(direction="both").attack(scene_of(original, original))
    assert finding.value == 1.0
    assert finding.victims.tolist() == list(range(80))
    assert finding.baseline == 1 / 80
    assert finding.interval is None


def test_what_is_the_same_for_everyone_is_guessed():
    original, _ = numbers(1, 50, 2)
    same = {name: np.full(50, values.mean()) for name, values in original.items()}
    finding = DistanceLinkage().attack(scene_of(original, same))
    assert finding.value == pytest.approx(1 / 50) == finding.baseline
    assert len(finding.victims) == 0


@given(seed=st.integers(0, 1000), k=st.integers(2, 6))
def test_groups_of_k_released_as_one_are_linked_at_most_one_in_k(seed, k):
    x, _ = numbers(seed, 10 * k, 2)
    order = np.argsort(x["n0"])
    groups = np.empty(10 * k, dtype=int)
    groups[order] = np.arange(10 * k) // k
    means = {name: np.array([v[groups == g].mean() for g in groups]) for name, v in x.items()}
    assert DistanceLinkage().attack(scene_of(x, means)).value <= 1 / k + 1e-12


@pytest.mark.parametrize(("k", "about"), [(5, 0.16), (20, 0.04)])
def test_blocks_of_microaggregation_come_near_one_in_k(k, about):
    # ALGORITHMS §3.1: 400 records, 6 columns in one block; 0.16 for k=5 and 0.04 for k=20 with
    # MDAV. Groups here are of neighbours of the farthest record (the first half of MDAV), so the
    # figures are near, not equal.
    x, _ = numbers(0, 400, 6)
    table = np.column_stack(list(x.values()))
    scaled = (table - table.mean(axis=0)) / table.std(axis=0)
    left, means = np.arange(400), np.empty_like(table)
    while len(left):
        far = left[((scaled[left] - scaled[left].mean(axis=0)) ** 2).sum(axis=1).argmax()]
        group = left[
            np.argsort(((scaled[left] - scaled[far]) ** 2).sum(axis=1))[
                : k if len(left) >= 2 * k else len(left)
            ]
        ]
        means[group] = table[group].mean(axis=0)
        left = np.setdiff1d(left, group)
    value = DistanceLinkage().attack(scene_of(x, {f"n{j}": means[:, j] for j in range(6)})).value
    assert 0.6 * about < value <= 1 / k


def test_order_of_rows_and_columns_does_not_matter():
    x, y = numbers(3, 60, 3, noise=0.4)
    x["c1"], y["c1"] = ["ab"[i % 2] for i in range(60)], ["ab"[i % 3 % 2] for i in range(60)]
    scene = scene_of(x, y)
    turned = scene_of(dict(reversed(x.items())), dict(reversed(y.items())))
    one, two, three = (
        DistanceLinkage(direction="both").attack(s) for s in (scene, shuffled(scene), turned)
    )
    assert one.details == two.details == three.details
    assert sorted(one.victims) == sorted(two.victims)


def test_strangers_count_as_nobody_and_the_suppressed_as_safe():
    scene = scene_of(
        {"n1": [1.0, 5.0, 9.0]},
        {"n1": [1.0, 5.0]},
        rows=[0, 1],
        intruder={"n1": [1.0, 9.0, 5.2]},
        truth=[0, 2, -1],
    )
    finding = DistanceLinkage().attack(scene)
    assert (
        finding.value == 0.5
    )  # of the two people in the table one is linked, the other was not released
    assert finding.details["strangers"] == 1


def test_directions_differ_where_records_are_alike():
    # two people, one released record each, both the same; the register has only the first
    scene = scene_of({"n1": [1.0, 2.0]}, {"n1": [1.5, 1.5]}, intruder={"n1": [1.0]}, truth=[0])
    found = DistanceLinkage(direction="both").attack(scene)
    assert found.details["directions"]["intruder"]["value"] == 0.5
    assert found.details["directions"]["released"]["value"] == 1.0
    assert found.value == 1.0


def test_one_to_one_takes_the_assignment_of_least_total_distance():
    # nearest: 0→a (0.1), 1→a (0.4 against 0.9); at once: 0→a, 1→b
    scene = scene_of({"n1": [1.0, 1.5]}, {"n1": [1.1, 2.4]})
    assert DistanceLinkage().attack(scene).value == 0.5
    assert DistanceLinkage(one_to_one=True).attack(scene).value == 1.0


def test_one_to_one_shares_out_records_that_are_alike():
    scene = scene_of({"c1": list("aabb")}, {"c1": list("aabb")})
    assert DistanceLinkage(one_to_one=True).attack(scene).value == 0.5
    assert DistanceLinkage(one_to_one=True, direction="released").attack(scene).value == 0.5


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"knows": ["n9"]}, "knows no released column"),
        ({"intruder": {"n0": []}, "truth": []}, "has no rows"),
        ({"truth": [-1, -1, -1]}, "nobody in the intruder's file"),
        ({"truth": [0]}, "one entry for every row"),
    ],
)
def test_scenes_in_which_nothing_can_be_linked(changed, reason):
    table = {"n0": [1.0, 2.0, 3.0]}
    scene = scene_of(table, table, **changed)
    assert reason in DistanceLinkage().applies(scene)
    with pytest.raises(SchemaError, match=reason):
        DistanceLinkage().attack(scene)


def test_every_cell_suppressed_and_constant_columns():
    table = {"n0": [1.0, 2.0, 3.0, 4.0], "c0": list("aabb")}
    stars = {"n0": ["*"] * 4, "c0": ["*"] * 4}
    for option in ("zero", "mean"):
        assert DistanceLinkage(suppressed=option).attack(scene_of(table, stars)).value == 0.25
    flat = {"n0": [7.0] * 4, "c0": ["x"] * 4}
    assert DistanceLinkage(direction="both").attack(scene_of(flat, flat)).value == 0.25


def test_one_row_and_huge_numbers():
    assert DistanceLinkage().attack(scene_of({"n0": [3.0]}, {"n0": [3.0]})).value == 1.0
    huge = {"n0": [1e300, -1e300, 0.0]}
    assert DistanceLinkage().attack(scene_of(huge, huge)).value == 1.0


def test_wrong_weights_and_too_long_files_are_refused():
    table = {"n0": [1.0, 2.0]}
    with pytest.raises(ParameterError, match="not in both files: age"):
        DistanceLinkage(weights={"age": 1.0}).attack(scene_of(table, table))
    with pytest.raises(ParameterError):
        DistanceLinkage(weights={"n0": -1.0})
    long = {"n0": np.arange(4001.0)}
    assert "up to 4,000 rows" in DistanceLinkage(one_to_one=True).applies(scene_of(long, long))


def test_it_is_an_attack_and_tells_no_values():
    scene = scene_of({"c1": ["secret", "hidden"]}, {"c1": ["secret", "hidden"]})
    assert isinstance(DistanceLinkage(), Attack)
    told = str(DistanceLinkage().attack(scene).to_dict())
    assert "secret" not in told and "hidden" not in told


def test_febrl(reference_data):
    # FEBRL 4: 5,000 originals and 5,000 corrupted copies, one each
    import polars as pl

    ours, theirs = (
        pl.read_csv(reference_data / "linkage" / f"febrl4{part}.csv", infer_schema=False).rename(
            str.strip
        )
        for part in "ab"
    )
    ours, theirs = (
        t.with_columns(pl.all().str.strip_chars().replace("", None)) for t in (ours, theirs)
    )
    number = {key.split("-")[1]: i for i, key in enumerate(ours["rec_id"])}
    truth = [number[key.split("-")[1]] for key in theirs["rec_id"]]
    renamed = {name: f"c_{name}" for name in ours.columns if name != "rec_id"}
    ours, theirs = (t.drop("rec_id").rename(renamed) for t in (ours, theirs))
    scene = scene_of(
        ours.to_dict(),
        ours.to_dict(),
        intruder=theirs.to_dict(),
        truth=truth,
        wildcard=tuple(renamed.values()),
    )
    assert DistanceLinkage().attack(scene).value > 0.98
