"""Tables published one after the other from the same records: what all of them tell together."""

from __future__ import annotations

import dataclasses
import itertools
import json

import numpy as np
import polars as pl
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from typer.testing import CliRunner

import sfumato as sf
from sfumato.core.pair import TablePair
from sfumato.core.schema import Schema
from sfumato.errors import ReleaseRefused, SfumatoError, Unsatisfiable
from sfumato.interfaces.cli.app import build_app
from sfumato.release.register.memory import Newcomer
from sfumato.release.register.store import start_register
from sfumato.results.tables.protected_table import SlowTable
from tests.results.tables.stranger import read_folder, within

TREE = {"region": sf.mask_right(2)}
RULES = [sf.Threshold(5)]


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def register(tmp_path):
    with start_register(tmp_path / "releases.db") as made:
        yield made


def people(seed=3, count=150, late=0.03):
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "region": draw.choice(["n1", "n2", "s1"], count),
            "diagnosis": draw.choice(["u", "v", "w"], count, p=[0.6, 0.34, 0.06]),
            "sex": draw.choice(["y", "z"], count),
            "year": draw.choice(["b", "c"], count, p=[late, 1 - late]),
            "cost": draw.lognormal(3, 1, count).round(0),
        }
    )


def publish(frame, register, folder, by, measure="count", rules=RULES, **options):
    made = sf.tabulate(
        frame, by, measure, options=sf.CountOptions(hierarchies=TREE), register=register, **options
    ).protect(rules)
    made.write(folder, to="the press")
    return made


# A stranger: all folders that were written, the records, and one unknown for every combination of
# values.


def cube_of(frame, columns):
    values = [sorted(frame[name].unique().to_list()) for name in columns]
    return [dict(zip(columns, one, strict=True)) for one in itertools.product(*values)]


def tells(cell, conditions, point):
    return all(within(point[c], x) for c, x in cell) and all(point[c] == x for c, x in conditions)


def too_narrow(frame, folders, small):
    """Cells, and differences of cells of which one holds the other, of fewer than ``small`` persons
    that all folders together tell within less than a person.
    """
    cube = cube_of(frame, ["region", "diagnosis", "sex", "year"])
    count = {tuple(point.values()): 0 for point in cube}
    for row in frame.select("region", "diagnosis", "sex", "year").iter_rows():
        count[row] += 1
    true = np.array(list(count.values()), dtype=float)
    seen = [(read_folder(folder / "share"), conditions) for folder, conditions in folders]
    rows, right, sets = [], [], {}
    for one, conditions in seen:
        for cell, text in one.texts.items():
            line = np.array([tells(cell, conditions, point) for point in cube], dtype=float)
            sets.setdefault((line > 0).tobytes(), line)
            if text != "x":
                assert float(text) == line @ true
                rows.append(line)
                right.append(float(text))
    lines = list(sets.values())
    wanted = [line for line in lines if 0 < line @ true < small]
    for a, b in itertools.permutations(lines, 2):
        if (a >= b).all() and 0 < (a - b) @ true < small:
            wanted.append(a - b)
    found = []
    constraint = LinearConstraint(np.array(rows), right, right)
    for line in wanted:
        if any(np.array_equal(line, other) for other, _ in found):
            continue
        ends = []
        for sign in (1.0, -1.0):
            solved = milp(
                sign * line,
                constraints=constraint,
                bounds=Bounds(0, true.sum()),
                integrality=np.ones(len(line)),
            )
            ends.append(sign * solved.fun)
        if ends[1] - ends[0] < 1:
            found.append((line, ends))
    return found


SECOND = [
    pytest.param(["region", "diagnosis"], None, id="the same table again"),
    pytest.param(["region", "diagnosis"], "year = c", id="some of the records"),
    pytest.param(["region", "sex"], None, id="another breakdown"),
    pytest.param(["region", "diagnosis", "sex"], None, id="one column finer"),
    pytest.param(["diagnosis"], "year = c", id="a margin of some of the records"),
]


@pytest.mark.parametrize(("by", "where"), SECOND)
def test_all_folders_together_tell_no_small_population(register, tmp_path, by, where):
    frame = people()
    publish(frame, register, tmp_path / "one", ["region", "diagnosis"])
    made = publish(frame, register, tmp_path / "two", by, where=where)
    assert [entry.number for entry in made.beside.earlier] == [1]
    conditions = [("year", "c")] if where else []
    alone = sf.tabulate(frame, by, options=sf.CountOptions(hierarchies=TREE), where=where).protect(
        RULES
    )
    found = too_narrow(frame, [(tmp_path / "one", []), (tmp_path / "two", conditions)], 5)
    # a difference that is made of whole cells of one table is left to the audit of that table
    assert [
        line
        for line, _ in found
        if not whole_cells(frame, line, [(["region", "diagnosis"], []), (by, conditions)])
    ] == []
    assert made.hidden.sum() >= alone.hidden.sum()


def whole_cells(frame, line, tables):
    """Whether points of the cube are all those of some lowest cells of one table."""
    cube = cube_of(frame, ["region", "diagnosis", "sex", "year"])
    chosen = line > 0
    for by, conditions in tables:
        inside = np.array([all(point[c] == x for c, x in conditions) for point in cube])
        keys = [tuple(point[name] for name in by) for point in cube]
        own = {key for key, hit in zip(keys, chosen, strict=True) if hit}
        if (
            (inside[chosen]).all()
            and sum(k in own and i for k, i in zip(keys, inside, strict=True)) == chosen.sum()
        ):
            return True
    return False


def test_a_few_records_less_are_found_out_without_a_register(register, tmp_path):
    """What the register is for: the same two tables, each safe alone, tell the few of the other
    year.
    """
    frame = people()
    for name, where in (("one", None), ("two", "year = c")):
        sf.tabulate(frame, ["diagnosis"], where=where).protect(RULES).write(tmp_path / name)
    assert too_narrow(frame, [(tmp_path / "one", []), (tmp_path / "two", [("year", "c")])], 9)


def test_what_earlier_tables_give_away_is_counted_and_named(register, tmp_path):
    frame = people()
    publish(frame, register, tmp_path / "one", ["region", "diagnosis"])
    made = publish(frame, register, tmp_path / "two", ["region", "diagnosis"], where="year = c")
    assert made.beside.given_away[1] > 0
    assert "beside table 1 of the register" in made.beside.sentences[0]
    assert "none can be now" in made.beside.sentences[0]
    told = json.dumps(made.beside.to_dict())
    assert "n1" not in told


def test_sums_are_put_beside_each_other_too(register, tmp_path):
    frame, rules = people(), [sf.Threshold(4), sf.PPercent(10)]
    publish(frame, register, tmp_path / "one", ["region", "diagnosis"], "sum(cost)", rules)
    made = publish(
        frame, register, tmp_path / "two", ["region"], "sum(cost)", rules, where="year = c"
    )
    assert made.beside.given_away[1] > 0
    assert made.audit().holds
    other = sf.tabulate(frame, ["region"], register=register).protect(
        RULES
    )  # counts are another quantity
    assert other.beside.earlier == ()
    assert other.beside.unknown == dict.fromkeys(
        (1, 3), "it tells sum(cost) of records, this one count of records"
    )


def test_people_of_another_source_are_not_meant(register, tmp_path):
    publish(people(), register, tmp_path / "one", ["region", "diagnosis"])
    made = publish(people(seed=8), register, tmp_path / "two", ["region", "diagnosis"])
    assert made.beside.earlier == ()
    assert (
        "records are missing here" in made.beside.unknown[1]
    )  # or the same people say something else now
    named = [
        people(seed).with_columns(
            who=pl.Series(range(seed * 1000, seed * 1000 + 150)), year=pl.lit("d")
        )
        for seed in (4, 5)
    ]
    publish(named[0], register, tmp_path / "three", ["region"], unit="who")
    number = register.entries[-1].number
    made = publish(named[1], register, tmp_path / "four", ["region"], unit="who")
    assert (
        number not in made.beside.unknown
    )  # the same column tells all of them apart, and nobody is in both


def test_a_source_that_grew_is_known_again_and_one_that_changed_is_unknown(register, tmp_path):
    frame = people()
    publish(frame, register, tmp_path / "one", ["region", "diagnosis"])
    more = pl.concat([frame, people(seed=9, count=3)])
    made = sf.tabulate(
        more, ["region", "diagnosis"], options=sf.CountOptions(hierarchies=TREE), register=register
    ).protect(RULES)
    assert [entry.number for entry in made.beside.earlier] == [1]
    assert made.beside.given_away[1] > 0  # three records more
    less = sf.tabulate(frame.head(100), ["region"], register=register).protect(RULES)
    assert "records are missing here" in less.beside.unknown[1]
    assert any("unknown" in sentence for sentence in less.sentences())


def test_what_was_told_already_cannot_be_protected(register, tmp_path):
    frame = people()
    publish(frame, register, tmp_path / "one", ["region", "diagnosis"], rules=[sf.Threshold(1)])
    with pytest.raises(Unsatisfiable, match=r"table 1 \(\d+ cells\)") as refused:
        publish(frame, register, tmp_path / "two", ["region", "diagnosis"])
    assert refused.value.exit_code == 4
    assert not (tmp_path / "two").exists()
    assert [entry.state for entry in register.entries] == ["released"]


def test_the_register_keeps_no_label_and_no_value(register, tmp_path):
    frame = people()
    publish(
        frame, register, tmp_path / "one", ["region", "diagnosis"], "sum(cost)", [sf.Threshold(5)]
    )
    kept = "".join(
        json.dumps(dataclasses.asdict(entry)) for entry in register.journal.read().entries
    )
    for word in ("n1", "s1", '"u"'):
        assert word not in kept
    value = sf.tabulate(frame, ["region"], "sum(cost)").to_polars()["sum(cost)"][0]
    assert str(int(value)) not in kept
    assert register.entries[0].to_dict()["table"]["cells"] == 20


def test_a_table_registered_meanwhile_is_noticed(register, tmp_path):
    frame = people()
    first = sf.tabulate(frame, ["region", "diagnosis"], register=register).protect(RULES)
    publish(frame, register, tmp_path / "one", ["region", "sex"])
    with pytest.raises(ReleaseRefused, match="meanwhile"):
        first.write(tmp_path / "two", to="the press")
    assert not (tmp_path / "two").exists()


def test_a_folder_that_cannot_be_written_is_withdrawn(register, tmp_path):
    made = sf.tabulate(people(), ["region"], register=register).protect(RULES)
    (tmp_path / "file").write_text("")
    with pytest.raises(SfumatoError):
        made.write(tmp_path / "file" / "out", to="the press")
    assert [entry.state for entry in register.entries] == ["withdrawn"]


OTHER = [
    pytest.param(
        {"measure": "sum(cost)"},
        "it tells count of records, this one sum(cost) of records",
        id="measure",
    ),
    pytest.param(
        {"unit": "who"}, "it tells count of records, this one count of persons by who", id="unit"
    ),
    pytest.param(None, "it is a release of records", id="records"),
]


@pytest.mark.parametrize(("second", "why"), OTHER)
def test_what_is_not_audited_together_is_unknown_and_no_pass(register, tmp_path, second, why):
    frame = people().with_columns(who=pl.Series(range(150)))
    if second is None:
        register_records(frame, register)
    else:
        publish(frame, register, tmp_path / "one", ["region"])
    made = publish(frame, register, tmp_path / "two", ["region"], **(second or {}))
    assert (made.beside.verdict, made.beside.to_dict()["verdict"]) == ("unknown", "unknown")
    assert why in made.beside.unknown[1]
    assert any(
        "release 1 of the register: unknown, not audited together" in one
        for one in made.sentences()
    )
    assert (
        json.loads((tmp_path / "two" / "owner" / "lock.json").read_text())["register"]["verdict"]
        == "unknown"
    )
    claims = {
        one.name: one
        for one in sf.verify(tmp_path / "two" / "share", owner=tmp_path / "two" / "owner").claims
    }
    assert claims["earlier releases"].status == "needs original"
    assert claims["earlier releases"].detail.startswith("unknown: not audited together with 1")


def register_records(frame, register):
    """A release of the records themselves."""
    original = sf.read(frame).with_schema(Schema.from_roles({"quasi": frame.columns}))
    newcomer = Newcomer.of(register, TablePair(original, original, np.arange(len(original))))
    told = {"recipient": "x", "folder": register.path, "certificate": "", "digest": "", "k": 1}
    with register.turn():
        register.now_is(register.plan(newcomer.entry(**told), newcomer.people), "released")


def test_what_takes_long_is_said_before(register, tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.results.tables.protected_table.BY_PROGRAMS", 10)
    frame = people()
    linked = sf.tabulate(frame, [["region", "diagnosis"], ["region", "sex"]])
    with pytest.warns(
        SlowTable,
        match=r"use linear programs, for each of",
    ):
        linked.protect(RULES, method="heuristic")
    publish(
        frame, register, tmp_path / "one", ["region", "diagnosis"]
    )  # a single one does not warn
    with pytest.warns(SlowTable, match="use linear programs"):
        publish(frame, register, tmp_path / "two", ["region", "diagnosis"])


# The command.


def call(*words):
    result = CliRunner().invoke(
        build_app(["table", "register", "verify"]), [str(word) for word in words]
    )
    if isinstance(result.exception, SfumatoError):
        return result.exception.exit_code, str(result.exception)
    return result.exit_code, result.output


def test_the_command_asks_the_register_and_is_written_down(tmp_path):
    people().write_csv(tmp_path / "data.csv")
    register = tmp_path / "releases.db"
    assert call("register", "start", register)[0] == 0
    words = [
        "table",
        tmp_path / "data.csv",
        "region x diagnosis: count",
        "--protect",
        "--threshold",
        5,
        "--register",
        register,
    ]
    assert call(*words, "--to", "the press", "-o", tmp_path / "one")[0] == 0
    code, told = call(
        *words, "--to", "the press", "-o", tmp_path / "two", "--where", "year = c", "--json"
    )
    assert code == 0
    found = json.loads(told[told.index("{") :])
    assert found["register"]["given_away"]["1"] > 0
    assert call("verify", tmp_path / "two" / "share")[0] == 7  # earlier ones need the register
    code, told = call("register", "list", register)
    assert (code, told.count("released")) == (0, 2)
    words[2] = "region: sum(cost)"
    code, told = call(
        *words, "--to", "the press", "-o", tmp_path / "three", "--quiet"
    )  # unknown is said aloud
    assert (code, told.count("! beside release")) == (0, 2), told
    assert "it tells count of records, this one sum(cost) of records" in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--to", "the press"], "go with --register"),
        (["--register", "r.db", "--protect", "-o", "out"], "who receives it"),
        (["--register", "r.db", "--to", "the press"], "who receives it"),
    ],
)
def test_wrong_words(tmp_path, words, told):
    people().write_csv(tmp_path / "data.csv")
    code, said = call("table", tmp_path / "data.csv", "region: count", *words)
    assert (code, told in said) == (2, True), said


def test_who_is_alone_knows_by_what_conditions_records_were_chosen(register, tmp_path):
    """One of region n1 is alone there with z: without the own six, the rest of n1 is that of y,
    which the first table is about.
    """
    told = {
        ("n1", "y"): [5, 12, 28],
        ("n2", "y"): [6, 21],
        ("n1", "z"): [6],
        ("n2", "z"): [2, 28, 14, 3, 12],
    }
    rows = [("u", region, sex, float(x)) for (region, sex), given in told.items() for x in given]
    rows += [("v", region, "y", x) for region in ("n1", "n2") for x in (11.0, 12.0, 13.0, 14.0)]
    frame = pl.DataFrame(
        rows, schema=["diagnosis", "region", "sex", "cost"], orient="row"
    ).with_row_index("who")
    rules, total = (
        [sf.PPercent(10)],
        {"options": sf.CountOptions(hierarchies={}), "register": register},
    )
    seen = {}
    for number, (by, where) in enumerate(
        ((["diagnosis", "region"], "sex = y"), (["region", "sex"], "diagnosis = u"))
    ):
        made = sf.tabulate(frame, by, "sum(cost)", where=where, **total).protect(rules)
        made.write(tmp_path / str(number), to="the press")
        seen[number] = {tuple(row[:-1]): row[-1] for row in made.to_polars().iter_rows()}
    assert (seen[0]["u", "n1"], seen[0]["u", "n2"], seen[0]["u", "Total"]) == ("x", "x", "72")
    assert seen[1]["n1", "Total"] == "x"  # or the seventy-two less forty-five were known
