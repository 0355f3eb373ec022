"""Every means from file to file: what ``sfumato run`` wrote is read by the csv module and judged by
counting.
"""

from __future__ import annotations

import csv
import itertools
from collections import Counter, defaultdict

import pytest

from sfumato.interfaces.cli import main

BASKETS = [
    "kale",
    "kale leek",
    "kale leek",
    "kale leek mace",
    "leek",
    "leek",
    "mace",
    "kale mace",
    "kale mace",
    "mace",
]
TREE = "{tree: {nested: {food: {green: [kale, leek], spice: [mace]}}}}"
RECIPE = """
shape: baskets
columns:
  who: person
  item: {{role: item, hierarchy: {tree}}}
  sex: {{role: {sex}}}
meet:
  - {promise}
steps:
  - {step}
"""
MEANS = {
    "item_recoding": "km_anonymity: {k: 3, m: 2}",
    "block_recoding: {size: 5}": "km_anonymity: {k: 2, m: 2}",
    "suppress_items": "km_anonymity: {k: 3, m: 2}",
    "basket_partition": "basket_k_anonymity: {k: 3}",
    "grouped_recoding": "k_km_anonymity: {k: 2, m: 2}",
    "disassociation: {size: 4}": "disassociated_km: {k: 2, m: 2}",
    "hide_rules": "hidden_rules: {rules: [leek -> kale], support: 2, confidence: 0.5}",
}


@pytest.fixture
def run(monkeypatch, capfd):
    """Run ``sfumato`` with arguments in this process: its exit code and all it said."""

    def called(*arguments):
        monkeypatch.setattr("sys.argv", ["sfumato", *map(str, arguments)])
        try:
            main()
        except SystemExit as stop:
            return stop.code or 0, "".join(capfd.readouterr())
        return 0, "".join(capfd.readouterr())

    return called


def least(baskets, most=2):
    """The fewest carriers of a set of at most two items that somebody has."""
    sets = {
        q
        for own in baskets
        for size in range(1, most + 1)
        for q in itertools.combinations(sorted(own), size)
    }
    return min(sum(set(q) <= own for own in baskets) for q in sets)


def keeps(step, rows):
    """Whether the rows of a released file keep what was promised."""
    if step.startswith("disassociation"):
        chunks = defaultdict(lambda: defaultdict(set))
        for row in rows:
            if int(row["chunk"]) > 0:
                chunks[row["cluster"], row["chunk"]][row["record"]].add(row["item"])
        return all(least(list(parts.values())) >= 2 for parts in chunks.values())
    people, sexes = defaultdict(set), {}
    for row in rows:
        people[row["who"]] |= {row["item"]} - {""}
        sexes[row["who"]] = row["sex"]
    held = list(people.values())
    if step.startswith("basket_partition"):
        return min(Counter(map(frozenset, filter(None, held))).values()) >= 3
    if step.startswith("hide_rules"):
        both, left = (
            sum({"leek", "kale"} <= own for own in held),
            sum("leek" in own for own in held),
        )
        return both < 2 or both < left / 2
    if step.startswith("grouped"):
        classes = [
            [people[who] for who in people if sexes[who] == sex] for sex in set(sexes.values())
        ]
        return all(len(one) >= 2 and least(one) >= 2 for one in classes)
    return least(held) >= (2 if step.startswith("block") else 3)


@pytest.mark.parametrize("step", MEANS)
def test_what_is_written_keeps_the_promise_and_can_be_checked(run, tmp_path, step):
    rows = [f"p{n},{item},{'fm'[n % 2]}" for n, own in enumerate(BASKETS) for item in own.split()]
    (tmp_path / "carts.csv").write_text("\n".join(["who,item,sex", *rows]) + "\n")
    sex = "drop" if step.startswith("disassociation") else "quasi"
    recipe = tmp_path / "carts.yaml"
    recipe.write_text(RECIPE.format(tree=TREE, sex=sex, promise=MEANS[step], step=step))
    out = tmp_path / "out"
    code, said = run("run", tmp_path / "carts.csv", "-r", recipe, "-o", out, "--seed", "3")
    assert code == 0, said
    with (out / "share" / "data.csv").open(newline="") as file:
        assert keeps(step, list(csv.DictReader(file)))
    code, said = run("check", out / "share" / "data.csv", "-r", recipe)
    assert code == 0, said
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "data.csv").write_bytes((out / "share" / "data.csv").read_bytes())
    code, said = run(
        "check", tmp_path / "alone" / "data.csv", "-r", recipe
    )  # without its certificate beside it
    assert code == 0, said
    code, said = run("verify", out / "share", "--original", tmp_path / "carts.csv")
    assert code == 0, said


@pytest.mark.parametrize(
    "promise",
    [
        "hkp_coherence: {h: 0.5, k: 2, p: 2, private: [kale]}",
        "rho_uncertainty: {rho: 0.9, sensitive: [kale]}",
    ],
)
def test_a_group_that_holds_a_private_item_is_no_pass(run, tmp_path, promise):
    rows = ["p1,green,f", "p1,spice,f", "p2,green,m", "p2,spice,m", "p3,spice,f", "p4,spice,m"]
    (tmp_path / "data.csv").write_text("\n".join(["who,item,sex", *rows]) + "\n")
    recipe = tmp_path / "carts.yaml"
    recipe.write_text(RECIPE.format(tree=TREE, sex="quasi", promise=promise, step="suppress_items"))
    code, said = run("check", tmp_path / "data.csv", "-r", recipe)
    assert code == 1
    assert "include a private item" in said
