"""Tables published one after the other, audited together by a stranger who reads all folders: each
case once gave something away, or was refused without need.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

pytest.importorskip("highspy")

import sfumato as sf
from sfumato.errors import SchemaError, Unsatisfiable
from sfumato.release.register.store import start_register
from tests.results.tables.joint_auditor import Asked, wrong_of

KINDS = {"threshold": sf.Threshold, "p_percent": sf.PPercent}


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def people(number, count=None):
    draw = np.random.default_rng(number)
    count = int(draw.integers(12, 60)) if count is None else count
    return draw, pl.DataFrame(
        {
            "region": draw.choice(["n1", "n2", "s1"], count, p=draw.dirichlet([2] * 3)),
            "sex": draw.choice(["y", "z"], count),
            "dia": draw.choice(["u", "w"], count, p=[0.7, 0.3]),
            "year": draw.choice(["a", "b", "c"], count, p=[0.04, 0.1, 0.86]),
            "x": draw.lognormal(2, 1.2, count).round(0),
            "id": [str(one) for one in range(count)],
        }
    )


CHOSEN = [
    (None, {}),
    (None, {}),
    ("year = c", {"year": {"c"}}),
    ("year != a", {"year": {"b", "c"}}),
    ("sex = y", {"sex": {"y"}}),
    ("dia != w", {"dia": {"u"}}),
    ("region in n1, n2", {"region": {"n1", "n2"}}),
    ("id != 7", {"seventh": {"False"}}),
    ("year = c and sex = y", {"year": {"c"}, "sex": {"y"}}),
    ("x < 9", {"small": {"True"}}),
]


def audited(frame, asked, small):
    rows = [
        {**row, "seventh": str(row["id"] == "7"), "small": str(row["x"] < 9)}
        for row in frame.to_dicts()
    ]
    used = {column for one in asked for column in one.where} | {"region", "sex", "dia", "year"}
    return wrong_of(rows, asked, sorted(used), small=small)


def publish(
    frame, register, folder, by, where, rules, measure="count", trees=None, method="auto", **options
):
    """Publish a table, and how an auditor is to look at it; None where it cannot be."""
    chosen = dict(CHOSEN)[where]
    try:
        made = sf.tabulate(
            frame,
            by,
            measure,
            options=sf.CountOptions(hierarchies=trees or {}),
            where=where,
            register=register,
        )
        judged = made.sensitive(*(KINDS[name](**values) for name, values in rules))
        made = judged.protect(method, options=sf.ProtectOptions(**options))
    except (Unsatisfiable, SchemaError):
        return None
    made.write(folder, to="the press")
    assert made.beside.verdict == "holds"
    return Asked(folder / "share", rules, chosen, options.get("slide", 0.0), options.get("prior"))


@pytest.mark.parametrize("number", range(12))
def test_random_sequences_give_nothing_away(number, tmp_path):
    draw, frame = people(number)
    measure = "count" if draw.random() < 0.6 else "sum(x)"
    asked = []
    with start_register(tmp_path / "r.db") as register:
        for step in range(int(draw.integers(2, 5))):
            by = [
                str(one)
                for one in draw.permutation(["region", "sex", "dia"])[: int(draw.choice([1, 2]))]
            ]
            where = CHOSEN[int(draw.integers(len(CHOSEN)))][0]
            rules = [
                ("threshold", {"t": int(draw.choice([2, 3, 5] if measure == "count" else [2, 3]))})
            ]
            trees = {"region": sf.mask_right(2)} if draw.random() < 0.5 else {}
            method = str(draw.choice(["auto", "heuristic"]))
            slide = float(draw.choice([0.0, 0.0, 1.5]))
            made = publish(
                frame,
                register,
                tmp_path / str(step),
                by,
                where,
                rules,
                measure,
                trees,
                method=method,
                slide=slide,
            )
            asked += [] if made is None else [made]
    assert not asked or audited(frame, asked, 2) == []


FEW = [("threshold", {"t": 2})]
FIVE = [("threshold", {"t": 5})]


def sequence(frame, tmp_path, tables):
    with start_register(tmp_path / "r.db") as register:
        return [
            publish(frame, register, tmp_path / str(number), by, where, rules, **options)
            for number, (by, where, rules, options) in enumerate(tables)
        ]


def test_three_tables_together_tell_nobody(tmp_path):
    """All, those with u, and some with w: the one who is left follows from three tables and no
    two.
    """
    frame = pl.DataFrame(
        {
            "region": ["n1", "n2"] * 10,
            "sex": ["y", "y", "z", "z"] * 5,
            "dia": ["u"] * 10 + ["w"] * 10,
            "year": ["c"] * 20,
            "x": [1.0] * 19 + [50.0],
            "id": [str(one) for one in range(20)],
        }
    )
    tables = [
        (["dia"], "x < 9", FEW, {}),
        (["region"], None, FEW, {}),
        (["sex"], "dia != w", FEW, {}),
    ]
    asked = sequence(frame, tmp_path, tables)
    assert audited(frame, [one for one in asked if one is not None], 2) == []
    alone = [
        sf.tabulate(frame, by, where=where)
        .protect([sf.Threshold(2)])
        .write(tmp_path / f"alone{number}")
        / "share"
        for number, (by, where, _, _) in enumerate(tables)
    ]
    bare = [
        Asked(share, FEW, dict(CHOSEN)[where])
        for share, (_, where, _, _) in zip(alone, tables, strict=True)
    ]
    assert any(one.startswith("together") for one in audited(frame, bare, 2))


@pytest.mark.parametrize("number", [5, 17, 31, 44])
def test_the_same_condition_chooses_the_same_records(number, tmp_path):
    """A condition on a column that no table is broken down by: both tables are about the same
    people.
    """
    _, frame = people(number, 40)
    trees = {"region": sf.mask_right(2)}
    tables = [
        (["region", "sex"], "x < 9", FEW, {"trees": trees}),
        (["sex", "region"], "x < 9", FIVE, {"slide": 1.5, "method": "heuristic"}),
    ]
    assert (
        audited(frame, [one for one in sequence(frame, tmp_path, tables) if one is not None], 2)
        == []
    )


@pytest.mark.parametrize("options", [{"slide": 2.5}, {"prior": 300.0}])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_what_an_earlier_table_asked_for_stays(number, options, tmp_path):
    _, frame = people(number, 45)
    tables = [
        (["region", "sex"], "year = c", [("threshold", {"t": 3})], options),
        (["sex"], None, FEW, {}),
        (["region", "dia"], "year = c", FEW, {}),
    ]
    assert (
        audited(frame, [one for one in sequence(frame, tmp_path, tables) if one is not None], 2)
        == []
    )


def test_a_total_that_must_go_is_no_bound(tmp_path):
    """The difference of two totals is one person: the second total is suppressed, and the table
    still published.
    """
    frame = people(3, 40)[1].with_columns(year=pl.Series(["c"] * 39 + ["a"]))
    asked = sequence(
        frame,
        tmp_path,
        [(["dia"], "year = c", FIVE, {}), (["dia"], None, FIVE, {"method": "heuristic"})],
    )
    assert audited(frame, [one for one in asked if one is not None], 2) == []


def test_the_auditor_sees_what_is_wrong(tmp_path):
    _, frame = people(11, 50)
    made = sf.tabulate(frame, ["region", "sex"]).protect([sf.Threshold(8)])
    share = made.write(tmp_path / "one") / "share"
    told = Asked(share, [("threshold", {"t": 8})])
    assert audited(frame, [told], 0) == []
    true = made.judged.table.to_polars()["count"].to_list()
    lines = (share / "table.csv").read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if line.endswith(",x"))
    lines[at] = lines[at][:-1] + str(int(true[at - 1]))
    (share / "table.csv").write_text("\n".join(lines) + "\n")
    assert audited(frame, [told], 0) != []
