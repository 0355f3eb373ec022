"""Pseudonyms: one a person, none for nobody, the same wherever key and domain are."""

from __future__ import annotations

import hashlib
import importlib

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.randomness import Seed
from sfumato.core.schema import Kind, Role, Schema
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import (
    MissingExtra,
    OutputError,
    ParameterError,
    RecipeError,
    SchemaError,
    UnreadableInput,
)
from sfumato.methods.steps.pseudonyms.pseudonyms import Pseudonymize
from sfumato.methods.steps.pseudonyms.vault import read_vault

KEY = "a good key of thirty-two letters"
ENV = {"env": "TEST_PSEUDONYM_KEY"}
NAMES = st.lists(st.one_of(st.none(), st.text("aäB 9-\x1f", max_size=4)), min_size=1, max_size=20)
GOAL = Goal(seed=Seed(1 << 100))
METHODS = {
    "keyed": {"key": ENV},
    "keyed, hex": {"key": ENV, "encoding": "hex", "length": 13},
    "counter": {"method": "counter"},
    "random_table": {"method": "random_table"},
    "format_preserving": {"method": "format_preserving", "key": ENV},
    "unkeyed_hash": {"method": "unkeyed_hash", "algorithm": "sha1"},
}
EVERY = pytest.mark.parametrize("options", METHODS.values(), ids=METHODS.keys())


@pytest.fixture(autouse=True, scope="module")
def _key():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENV["env"], KEY)
        yield


def table(names, **more) -> Table:
    frame = pl.DataFrame(
        {"name": pl.Series(names, dtype=None if names and names != [None] else pl.String), **more}
    )
    return Table(frame).with_roles(drop="name", keep=list(more))


def pseudonyms(step: Pseudonymize, dataset: Table, goal: Goal = GOAL) -> list:
    return step.apply(dataset, step.plan(dataset, goal)).column("name").to_list()


# -------------------------------------------------------------------------------- what always holds


@EVERY
@given(names=NAMES)
def test_one_pseudonym_a_value_and_missing_stays_missing(options, names):
    made = pseudonyms(Pseudonymize("name", **options), table(names))
    assert [m is None for m in made] == [n is None for n in names]
    assert len(set(zip(names, made, strict=True))) == len(set(names)) == len(set(made))


@pytest.mark.slow
@EVERY
@given(names=NAMES, random=st.randoms())
def test_row_order_does_not_matter(options, names, random):
    step, order = Pseudonymize("name", **options), list(range(len(names)))
    random.shuffle(order)
    made = pseudonyms(step, table(names))
    assert pseudonyms(step, table([names[i] for i in order])) == [made[i] for i in order]


@EVERY
def test_every_kind_of_frame_gives_the_same(options):
    frame = pl.DataFrame({"name": ["Ann", None, "Bo", "Ann"], "n": [1, 2, 3, 4]})
    frames = (
        frame,
        pd.DataFrame({"name": ["Ann", None, "Bo", "Ann"], "n": [1, 2, 3, 4]}),
        pa.table(frame.to_dict()),
    )
    step = Pseudonymize("name", **options)
    found = [pseudonyms(step, Table(one).with_roles(drop="name", keep="n")) for one in frames]
    assert found[0] == found[1] == found[2]


@EVERY
def test_a_direct_identifier_becomes_plain(options):
    step, people = Pseudonymize("name", **options), table(["Ann", "Bo"])
    made = step.apply(people, step.plan(people, GOAL))
    assert made.schema["name"].roles == (Role.KEEP,) and made.schema["name"].kind == Kind.NOMINAL
    assert step.released_schema(people.schema, ["name"]).dropped_columns == ()
    assert step.claims == ("name",)


@EVERY
def test_empty_and_all_missing_tables(options):
    step = Pseudonymize("name", **options)
    assert (
        pseudonyms(
            step,
            Table(pl.DataFrame({"name": pl.Series([], dtype=pl.String)})).with_roles(drop="name"),
        )
        == []
    )
    for dtype in (pl.String, pl.Null, pl.Float64):
        people = Table(pl.DataFrame({"name": pl.Series([None, None], dtype=dtype)})).with_roles(
            drop="name"
        )
        assert pseudonyms(step, people) == [None, None]


@EVERY
def test_the_recipe_says_it_all(options):
    step = Pseudonymize(("name", "other"), **options)
    assert registry.build("steps", registry.write(step)) == step
    text = recipes.dump(recipes.Recipe(Schema({}), (), (step,)))
    assert recipes.parse(text).steps == (step,)
    assert KEY not in text


@EVERY
def test_plans_tell_neither_names_nor_keys(options):
    step = Pseudonymize("name", **options)
    plan = step.plan(table(["Annabella", "Annabella"]), GOAL)
    told = f"{plan.describe()} {plan.effort()} {plan!r} {step!r}"
    assert "Annabella" not in told and KEY not in told
    assert any("1 pseudonym(s) of column 'name' occur in several rows" in w for w in plan.warnings)


# -------------------------------------------------------------------------------------- each method


def test_keyed_links_columns_tables_and_types_and_nothing_else():
    one = table(["Ann", "Bo"], referrer=["Bo", "Cy"])
    step = Pseudonymize(["name", "referrer"], key=ENV, domain="study")
    made = step.apply(one, step.plan(one, GOAL))
    assert made.column("name")[1] == made.column("referrer")[0]
    assert pseudonyms(step, table(["Bo"], referrer=["x"])) == [made.column("name")[1]]
    other = Pseudonymize("name", key=ENV, domain="another study")
    assert not set(pseudonyms(other, one)) & set(made.column("name"))
    numbers = [
        pseudonyms(Pseudonymize("name", key=ENV), table(n))
        for n in ([7, 8], ["7", "8"], [7.0, 8.0])
    ]
    assert numbers[0] == numbers[1] == numbers[2]


@pytest.mark.parametrize("algorithm", ["sha256", "sha1", "md5"])
def test_unkeyed_hashes_warn_loudly_and_are_not_hashed_twice(algorithm):
    step = Pseudonymize("name", method="unkeyed_hash", algorithm=algorithm)
    people = table(["Ann", "Bo"])
    plan = step.plan(people, GOAL)
    made = step.apply(people, plan).column("name").to_list()
    assert made == [hashlib.new(algorithm, n).hexdigest() for n in (b"Ann", b"Bo")]
    assert f"{algorithm} without a key gives no protection" in plan.warnings[0]
    again = step.plan(table(made), GOAL)
    assert again.columns["name"].to_list() == made
    assert "contains hashes" in again.warnings[0] and "no protection" in again.warnings[0]


class TestFake:
    @pytest.fixture(autouse=True)
    def _faker(self):
        pytest.importorskip("faker")

    def test_follows_key_domain_and_value(self):
        people, step = (
            table(["Ann", "Bo", None, "Ann"]),
            Pseudonymize("name", method="fake", key=ENV),
        )
        made = pseudonyms(step, people)
        assert made[0] == made[3] != made[1] and made[2] is None
        assert pseudonyms(step, table(["Bo", "Zoe"]))[0] == made[1]
        assert (
            pseudonyms(Pseudonymize("name", method="fake", key=ENV, domain="x"), people)[:2]
            != made[:2]
        )

    def test_kinds_and_locales(self):
        mail = pseudonyms(
            Pseudonymize("name", method="fake", key=ENV, kind="email", locale="de_DE"),
            table(["Ann"]),
        )[0]
        assert mail.partition("@")[2].startswith("example.")
        with pytest.raises(ParameterError, match="locale is not known"):
            Pseudonymize("name", method="fake", key=ENV, locale="xx_YY").plan(table(["Ann"]), GOAL)

    @pytest.mark.slow
    def test_shared_fakes_are_told_and_a_vault_parts_them(self, tmp_path):
        people = table([str(n) for n in range(300)])
        plan = Pseudonymize("name", method="fake", key=ENV, kind="first_name").plan(people, GOAL)
        assert any("share a fake" in w for w in plan.warnings)
        assert not plan.preserved[0].exactly and 0 < plan.preserved[0].off_by < 1
        apart = Pseudonymize(
            "name", method="fake", key=ENV, kind="first_name", vault=str(tmp_path / "v")
        )
        assert len(set(pseudonyms(apart, people))) == 300
        with pytest.raises(ParameterError, match="has too few fakes"):
            apart.plan(table([str(n) for n in range(3000)]), GOAL)

    def test_says_which_extra_is_missing(self, monkeypatch):
        real = importlib.import_module

        def without(name, *args):
            if name == "faker":
                raise ImportError(name)
            return real(name, *args)

        monkeypatch.setattr(importlib, "import_module", without)
        with pytest.raises(MissingExtra, match=r"sfumato\[fake\]"):
            Pseudonymize("name", method="fake", key=ENV).plan(table(["Ann"]), GOAL)


# ----------------------------------------------------------------------------------------- together


def test_several_columns_make_one_identity():
    frame = pl.DataFrame(
        {
            "name": ["Ann", "Ann", "Bo", None, "Ann", None],
            "born": ["1", "2", "1", "1", "1", None],
            "n": [1] * 6,
        }
    )
    people = Table(frame).with_roles(drop=["name", "born"], keep="n")
    step = Pseudonymize(["name", "born"], key=ENV, together=True)
    made = step.apply(people, step.plan(people, GOAL))
    codes = made.column("name").to_list()
    assert codes[0] == codes[4] and codes[5] is None
    assert len(set(codes)) == 5
    assert made.schema.dropped_columns == ("born",), "left for the release to drop"
    assert step.released_schema(people.schema, ["name", "n"]).dropped_columns == ("born",)


def test_parts_cannot_be_shifted():
    frame = pl.DataFrame({"name": ["a\x1f", "a"], "b": ["b", "\x1fb"]})
    people = Table(frame).with_roles(drop=["name", "b"])
    assert len(set(pseudonyms(Pseudonymize(["name", "b"], key=ENV, together=True), people))) == 2


# -------------------------------------------------------------------------------------------- vault


@pytest.mark.parametrize(
    "options",
    [
        {"method": "random_table"},
        {"method": "counter"},
        {"method": "keyed"},
        {"method": "format_preserving"},
    ],
    ids=lambda o: o["method"],
)
class TestVault:
    def test_people_keep_their_pseudonyms(self, options, tmp_path):
        step = Pseudonymize("name", key=ENV, vault=str(tmp_path / "v"), domain="d", **options)
        first = step.plan(table(["Ann", "Bo"]), GOAL)
        assert not (tmp_path / "v").exists(), "planning stores nothing"
        assert any("does not exist yet" in w for w in first.warnings)
        first.after_writing()
        first.after_writing()
        later = step.plan(table(["Cy", "Bo", None, "Ann"]), Goal(seed=Seed(5 << 100)))
        ann, bo = first.columns["name"].to_list()
        assert later.columns["name"].to_list()[1:] == [bo, None, ann]
        assert len(set(later.columns["name"].to_list())) == 4
        later.after_writing()
        assert len(read_vault(tmp_path / "v", KEY.encode()).codes("d", options["method"])) == 3

    def test_running_again_gives_the_same(self, options, tmp_path):
        step, people = (
            Pseudonymize("name", key=ENV, vault=str(tmp_path / "v"), **options),
            table(["Ann", "Bo", "Cy"]),
        )
        first = step.plan(people, GOAL)
        assert step.plan(people, GOAL).columns["name"].equals(first.columns["name"]), (
            "before anything is stored"
        )
        first.after_writing()
        assert step.plan(people, GOAL).columns["name"].equals(first.columns["name"]), (
            "and afterwards"
        )

    def test_the_lock_finds_the_vault_from_anywhere(self, options, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        step = Pseudonymize("name", key={"file": "k"}, vault="v", **options)
        locked = step.locked(None)
        assert locked.key == {"file": str(tmp_path / "k")} and locked.vault == str(tmp_path / "v")
        assert Pseudonymize("name", key=ENV, vault="v", **options).locked(None).key == ENV


def test_domains_are_apart_in_a_vault(tmp_path):
    options = {"method": "random_table", "key": ENV, "vault": str(tmp_path / "v")}
    one = Pseudonymize("name", domain="one", **options)
    plan = one.plan(table(["Ann"]), GOAL)
    plan.after_writing()
    two = Pseudonymize("name", domain="two", **options).plan(table(["Ann"]), GOAL)
    assert not plan.columns["name"].equals(two.columns["name"])


def test_two_runs_at_once_do_not_give_one_person_two_pseudonyms(tmp_path):
    step = Pseudonymize("name", method="random_table", key=ENV, vault=str(tmp_path / "v"))
    first, second = (
        step.plan(table(["Ann"]), GOAL),
        step.plan(table(["Ann"]), Goal(seed=Seed(9 << 100))),
    )
    first.after_writing()
    with pytest.raises(OutputError, match="nothing was stored"):
        second.after_writing()


def test_another_key_does_not_open_the_vault(tmp_path, monkeypatch):
    step = Pseudonymize("name", key=ENV, vault=str(tmp_path / "v"))
    step.plan(table(["Ann"]), GOAL).after_writing()
    monkeypatch.setenv(ENV["env"], KEY[::-1])
    with pytest.raises(UnreadableInput, match="another key"):
        step.plan(table(["Ann"]), GOAL)


def test_a_domain_does_not_change_its_method(tmp_path):
    Pseudonymize("name", key=ENV, vault=str(tmp_path / "v")).plan(
        table(["Ann"]), GOAL
    ).after_writing()
    with pytest.raises(ParameterError, match="made by keyed"):
        Pseudonymize("name", method="counter", key=ENV, vault=str(tmp_path / "v")).plan(
            table(["Ann"]), GOAL
        )


# ---------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"columns": []}, "should name one column"),
        ({"columns": ["a", "a"]}, "each column once"),
        ({"columns": [1]}, "should name one column"),
        ({}, "keyed needs a key"),
        ({"method": "fake"}, "fake needs a key"),
        ({"method": "format_preserving"}, "format_preserving needs a key"),
        ({"method": "random_table", "vault": "v"}, "a vault is encrypted and needs a key"),
        ({"method": "counter", "key": ENV}, "counter takes no key unless there is a vault"),
        ({"method": "unkeyed_hash", "key": ENV}, "unkeyed_hash takes no key"),
        ({"method": "unkeyed_hash", "domain": "d"}, "no domain and no vault"),
        ({"method": "counter", "length": 8}, "length and encoding are for keyed"),
        ({"method": "fake", "key": ENV, "encoding": "hex"}, "length and encoding are for keyed"),
        ({"key": ENV, "kind": "name"}, "kind and locale are for fake"),
        ({"key": ENV, "algorithm": "md5"}, "algorithm is for unkeyed_hash"),
        ({"key": ENV, "together": True}, "two columns or more"),
        (
            {"columns": ["a", "b"], "method": "format_preserving", "key": ENV, "together": True},
            "cannot combine several",
        ),
        ({"key": ENV, "length": 3}, "length should be greater than or equal to 4"),
        ({"key": ENV, "length": 52}, "length is at most 51 in base32"),
        ({"key": ENV, "method": "rot13"}, "method should be"),
        ({"key": "sw0rdfish-sw0rdfish"}, "never write a key into a recipe"),
        ({"key": {"value": "sw0rdfish-sw0rdfish"}}, "say where the key is"),
    ],
)
def test_contradictions_are_refused(options, told):
    with pytest.raises(ParameterError, match=told) as refused:
        Pseudonymize(**{"columns": "a", **options})
    assert "sw0rdfish" not in str(refused.value)
    with pytest.raises(RecipeError) as refused:
        registry.build("steps", {"pseudonymize": {"columns": "a", **options}})
    assert "sw0rdfish" not in str(refused.value)


def test_keys_that_are_not_there_or_too_short(tmp_path, monkeypatch):
    (tmp_path / "k").write_text("short")
    with pytest.raises(ParameterError, match="holds 5 bytes"):
        Pseudonymize("name", key={"file": str(tmp_path / "k")}).plan(table(["Ann"]), GOAL)
    with pytest.raises(ParameterError, match="No such file"):
        Pseudonymize("name", key={"file": str(tmp_path / "none")}).plan(table(["Ann"]), GOAL)
    monkeypatch.delenv(ENV["env"])
    with pytest.raises(ParameterError, match="is not set"):
        Pseudonymize("name", key=ENV).plan(table(["Ann"]), GOAL)


def test_columns_that_cannot_be_pseudonymized():
    people = Table(pl.DataFrame({"id": [1, 2], "w": [1.0, 2.0]})).with_roles(
        person="id", weight="w"
    )
    for name in ("id", "w"):
        with pytest.raises(SchemaError, match="pseudonymize a direct identifier"):
            Pseudonymize(name, key=ENV).plan(people, GOAL)
    with pytest.raises(SchemaError, match=r"has no column 'nmae'\. Did you mean 'name'"):
        Pseudonymize("nmae", key=ENV).plan(table(["Ann"]), GOAL)
    with pytest.raises(SchemaError, match="lists or objects"):
        Pseudonymize("name", key=ENV).plan(
            Table(pl.DataFrame({"name": [[1]]})).with_roles(drop="name"), GOAL
        )


def test_a_quasi_identifier_stays_one():
    people = Table(pl.DataFrame({"zip": [1, 2]})).with_roles(quasi="zip")
    step = Pseudonymize("zip", key=ENV)
    assert step.apply(people, step.plan(people, GOAL)).schema["zip"].roles == (Role.QUASI,)
