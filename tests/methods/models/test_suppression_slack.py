"""t-closeness to the original, from the released records alone: bounds hold whatever was
suppressed, and ``verify`` uses them.
"""

from __future__ import annotations

import itertools
import json
import random

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.evidence import gather
from sfumato.release.signatures import digest_of


def shares(values, axis):
    return [values.count(x) / len(values) for x in axis]


def naive(distance, rows, table, above):
    """The distance of one class from a table, by the definitions; ``above`` maps a value to its
    group.
    """
    axis = sorted(set(table) | set(rows))
    q, p = shares(rows, axis), shares(table, axis)
    if distance == "equal":
        return sum(abs(a - b) for a, b in zip(q, p, strict=True)) / 2
    if distance == "hierarchical":
        groups = sorted(set(above.values()))
        top = sum(
            abs(sum(a - b for x, a, b in zip(axis, q, p, strict=True) if above[x] == g))
            for g in groups
        )
        return (sum(abs(a - b) for a, b in zip(q, p, strict=True)) + top) / 4
    gaps = (
        [1.0] * (len(axis) - 1)
        if distance == "ordered"
        else [b - a for a, b in itertools.pairwise(axis)]
    )
    running, total = 0.0, 0.0
    for gap, a, b in zip(gaps, q, p, strict=False):
        running += a - b
        total += abs(running) * gap
    return total / sum(gaps)


DISTANCES = ("equal", "ordered", "numeric", "hierarchical")
ABOVE = {value: value // 4 for value in range(12)}


def described(values, classes, distance):
    """The released rows, as a stranger sees them."""
    table = pl.DataFrame({"home": [str(c) for c in classes], "amount": values})
    if distance == "hierarchical":
        table = table.with_columns(pl.col("amount").cast(pl.String))
        tree = {
            str(group): [str(v) for v, above in ABOVE.items() if above == group]
            for group in set(ABOVE.values())
        }
        return (
            sf.read(table)
            .with_roles(quasi=["home"], sensitive=["amount"])
            .with_hierarchies(amount=sf.tree({"*": tree}))
        )
    kinds = {"amount": "numeric"} if distance in ("ordered", "numeric") else {}
    return sf.read(table).with_roles(quasi=["home"], sensitive=["amount"]).with_kinds(**kinds)


@pytest.mark.parametrize("distance", DISTANCES)
def test_bounds_hold_for_every_original(distance):
    draw = random.Random(distance)
    looked_at, tight = 0, 0
    for _ in range(150):
        count = draw.randint(4, 30)
        values = [draw.choice([0, 1, 2, 5, 9, 11][: draw.randint(2, 6)]) for _ in range(count)]
        classes = [draw.randint(0, draw.choice([0, 2, 4])) for _ in range(count)]
        kept = [i for i in range(count) if classes[i] != 0 or draw.random() < 0.5]
        released = [values[i] for i in kept]
        if len(set(released)) < 2:
            continue
        groups = [[values[i] for i in kept if classes[i] == c] for c in {classes[i] for i in kept}]
        truth = max(naive(distance, group, values, ABOVE) for group in groups)
        model = sf.TCloseness("amount", t=1, distance=distance)
        people = described(released, [classes[i] for i in kept], distance)
        low, high = model._bounds_without(gather(people, [model]), count - len(kept))
        assert low - 1e-9 <= truth <= high + 1e-9
        looked_at += 1
        tight += high < 1 - 1e-9
    assert looked_at > 100 and tight > 20


def test_the_slack_is_reached():
    """All suppressed records have a value that no other has: any smaller slack would be false."""
    model = sf.TCloseness("amount", t=1)
    people = described([0, 1] * 50, [0] * 100, "equal")
    _, high = model._bounds_without(gather(people, [model]), 60)
    assert high == pytest.approx(naive("equal", [0, 1] * 50, [0, 1] * 50 + [11] * 60, ABOVE))


def hospital():
    draw = random.Random(3)
    table = pl.DataFrame(
        {
            "age": [draw.choice(["20", "30", "40"]) for _ in range(300)] + ["99"] * 3,
            "ill": [draw.choice("abc") for _ in range(303)],
        }
    )
    return sf.read(table).with_roles(quasi=["age"], sensitive=["ill"])


def written(place, t, **options):
    people = hospital()
    release = sf.anonymize(
        people,
        [sf.KAnonymity(5), sf.TCloseness("ill", t=t, **options)],
        [sf.GlobalRecoding(budget=0.05)],
        seed=1,
    )
    return people, release.write(place / "out")


def edited(folder, change):
    file = folder / "share" / "certificate.json"
    said = json.loads(file.read_text())
    change(said)
    file.write_text(json.dumps({**said, "digest": digest_of(said)}))
    return sf.verify(folder / "share")


def test_verify_needs_no_original_where_the_slack_suffices(tmp_path):
    _, folder = written(tmp_path, 0.3)
    alone = sf.verify(folder / "share")
    assert alone.holds, str(alone)
    promise, attained = [c for c in alone.claims if c.name.startswith("0.3-closeness")]
    assert promise.status == "holds" and "give or take the 3 of 303 records" in promise.detail
    # The bounds keep the promise; how far below it the release stays, only the original tells.
    assert attained.name.endswith(": attained value") and attained.status == "needs original"


def test_a_promise_within_the_slack_stays_open(tmp_path):
    people, folder = written(tmp_path, 0.3)
    attained = json.loads((folder / "share" / "certificate.json").read_text())["verdicts"][1][
        "attained"
    ]
    people, folder = written(tmp_path / "tight", attained + 0.001)
    alone = sf.verify(folder / "share")
    assert alone.result == "not all verified" and alone.headline.endswith(
        "1 of 2 promises needs the original"
    )
    assert sf.verify(folder / "share", original=people, owner=folder / "owner").result == "verified"


@pytest.mark.parametrize("value", [0.0, 0.29])
def test_an_attained_value_beyond_the_slack_is_false(tmp_path, value):
    _, folder = written(tmp_path, 0.3)

    def change(said):
        verdict = said["verdicts"][1]
        verdict["attained"] = value

    found = edited(folder, change)
    assert found.result == "false" and any(
        "attained" in c.detail for c in found.claims if c.status == "fails"
    )


def test_a_promise_that_was_put_in_does_not_verify(tmp_path):
    """A stranger adds what nobody can check: exit code 0 would vouch for it."""
    _, folder = written(tmp_path, 0.3)
    more = {"model": "beta_likeness", "holds": True, "attained": 0.4, "required": 0.5}
    said = json.loads((folder / "share" / "certificate.json").read_text())["verdicts"][0]

    def change(document):
        document["recipe"]["meet"].append({"beta_likeness": {"sensitive": "ill", "beta": 0.5}})
        document["verdicts"].append({**said, **more})

    found = edited(folder, change)
    assert found.result != "verified" and not found.holds and found.exit_code in (1, 7)


def test_changed_columns_are_not_bounded(tmp_path):
    people = hospital()
    steps = [sf.GlobalRecoding(budget=0.05), sf.Pram(["ill"], retain=0.9)]
    release = sf.anonymize(people, [sf.KAnonymity(5), sf.TCloseness("ill", t=0.9)], steps, seed=1)
    folder = release.write(tmp_path / "out")
    (claim,) = [c for c in sf.verify(folder / "share").claims if c.name.startswith("0.9-closeness")]
    assert claim.status == "needs original"
