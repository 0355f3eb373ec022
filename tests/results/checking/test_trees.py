"""Trees and clusters: every leaf and cluster must hold enough persons, counted again in the records
where there are any."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl

from tests.results.checking.test_fitted_models import rules_of
from tests.results.tables.own_records import check


def test_leaves_of_a_tree():
    def tree(counts, impurity):
        left = [1, -1, -1]
        return SimpleNamespace(
            tree_=SimpleNamespace(children_left=left, n_node_samples=counts, impurity=impurity)
        )

    alone = check(tree([40, 25, 15], [0.5, 0.4, 0.3]))
    assert rules_of(alone, "review") == {"records"}  # what a tree says of itself, nobody counted
    assert not rules_of(alone)
    assert rules_of(check(tree([40, 35, 5], [0.5, 0.4, 0.3]))) == {"marks"}
    assert rules_of(check(tree([40, 25, 15], [0.5, 0.0, 0.3]))) == {"all_equal"}
    people = pl.DataFrame({"who": [1, 1, 2] * 14})
    assert check(tree([42, 25, 17], [0.5, 0.4, 0.3]), people, unit="who").status == "review"


def test_leaves_are_counted_again():
    draw = np.random.default_rng(4)
    people = pl.DataFrame(
        {"age": draw.integers(0, 100, 90), "cost": draw.lognormal(2, 0.4, 90), "who": np.arange(90)}
    )
    young = int((people["age"] <= 50).sum())

    def tree(counts, **more):
        inner = {
            "children_left": [1, -1, -1],
            "children_right": [2, -1, -1],
            "feature": [0, -2, -2],
            "threshold": [50.0, -2, -2],
        }
        return SimpleNamespace(
            tree_=SimpleNamespace(**inner, n_node_samples=counts, **more), feature_names_in_=["age"]
        )

    right = tree([90, young, 90 - young])
    assert check(right, people, column="cost").passes
    assert check(right, people).status == "review"  # what is told of leaves may be a mean of few
    assert rules_of(check(tree([90, 45, 44]), people, column="cost"), "review") == {"recomputed"}
    few = people.with_columns(who=pl.col("who") % 7)
    assert rules_of(check(right, few, unit="who", column="cost")) == {"marks"}
    rich = people.with_columns(cost=pl.when(pl.col("who") == 0).then(1e6).otherwise(pl.col("cost")))
    assert rules_of(check(right, rich, column="cost")) == {"contributions"}
    shares = np.array([[[0.5, 0.5]], [[0.5, 0.5]], [[1 - 3 / (90 - young), 3 / (90 - young)]]])
    assert rules_of(check(tree([90, young, 90 - young], value=shares), people), "review") == {
        "share"
    }
    shares[2] = shares[1]
    assert check(tree([90, young, 90 - young], value=shares), people).passes


def test_leaves_that_tell_other_numbers_than_means_are_for_review():
    """A tree fitted by absolute errors tells the median of every leaf: the value of a person."""
    people = pl.DataFrame({"age": np.arange(80), "cost": np.arange(80.0) ** 1.5})
    young, old = people["cost"].head(40).to_numpy(), people["cost"].tail(40).to_numpy()

    def tree(low, high):
        inner = SimpleNamespace(
            children_left=[1, -1, -1],
            children_right=[2, -1, -1],
            feature=[0, -2, -2],
            threshold=[39.5, -2.0, -2.0],
            n_node_samples=[80, 40, 40],
            impurity=[0.5, 0.4, 0.3],
            value=np.array([0.0, low, high]).reshape(3, 1, 1),
        )
        return SimpleNamespace(tree_=inner, feature_names_in_=["age"])

    assert check(tree(young.mean(), old.mean()), people, column="cost").passes
    medians = check(tree(np.sort(young)[20], np.sort(old)[20]), people, column="cost")
    assert rules_of(medians, "review") == {"recomputed"}
    assert medians.status == "review"


def test_leaves_of_random_trees_by_counting():
    """A tree passes only where every leaf, walked record by record, has enough persons."""
    draw = np.random.default_rng(11)
    passed = refused = 0
    for _ in range(60):
        rows, persons = int(draw.integers(40, 120)), int(draw.integers(15, 120))
        people = pl.DataFrame(
            {
                "age": draw.integers(0, 60, rows),
                "size": draw.integers(0, 60, rows),
                "cost": draw.lognormal(2, 0.3, rows),
                "who": draw.integers(0, persons, rows),
            }
        )
        # a root and one more split on its right: leaves 1, 3 and 4
        features, cuts = (
            [0, -2, 1, -2, -2],
            [float(draw.integers(10, 50)), -2, float(draw.integers(10, 50)), -2, -2],
        )
        leaves: dict[int, list[int]] = {1: [], 3: [], 4: []}
        for age, size, who in people.select("age", "size", "who").iter_rows():
            leaf = 1 if age <= cuts[0] else 3 if size <= cuts[2] else 4
            leaves[leaf].append(who)
        counts = [
            rows,
            len(leaves[1]),
            len(leaves[3]) + len(leaves[4]),
            len(leaves[3]),
            len(leaves[4]),
        ]
        inner = SimpleNamespace(
            children_left=[1, -1, 3, -1, -1],
            children_right=[2, -1, 4, -1, -1],
            feature=features,
            threshold=cuts,
            n_node_samples=counts,
        )
        tree = SimpleNamespace(tree_=inner, feature_names_in_=["age", "size"])
        verdict = check(tree, people, unit="who", column="cost")
        enough = all(len(set(persons_of_leaf)) >= 10 for persons_of_leaf in leaves.values())
        assert enough or not verdict.passes
        passed += verdict.passes
        refused += not enough
    assert passed and refused


def test_clusters_and_scales():
    centres = SimpleNamespace(
        cluster_centers_=np.ones((2, 2)), labels_=np.r_[np.zeros(50), np.ones(3)]
    )
    assert rules_of(check(centres)) == {"marks"}
    centres.labels_ = np.arange(60) % 2
    assert check(centres).status == "review"
    assert rules_of(check(SimpleNamespace(data_max_=np.ones(2)))) == {"extreme"}
