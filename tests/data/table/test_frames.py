"""Frames as they come: raw, with roles beside them, ordered categories, an index, and the types of
their columns.
"""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.schema import Kind
from sfumato.errors import ParameterError, SchemaError

ROLES = {"quasi": ["age"], "keep": ["pay"]}
TABLE = pl.DataFrame({"age": [30, 40] * 10, "pay": list(range(20))})
FRAMES = {"polars": TABLE, "pandas": TABLE.to_pandas(), "arrow": TABLE.to_arrow()}


@pytest.mark.parametrize("kind", FRAMES)
def test_verbs_take_a_frame_with_roles_and_one_promise_step_or_metric(kind):
    frame = FRAMES[kind]
    assert sf.assess(frame, sf.KAnonymity(5), roles=ROLES).smallest_class == 10
    assert sf.judge(frame, "k_anonymity", roles=ROLES)[0].attained == 10
    assert sf.profile(frame).rows == 20
    release = sf.anonymize(
        frame, meet=sf.KAnonymity(5), steps=sf.GlobalRecoding(), roles=ROLES, seed=1
    )
    assert type(release.released.to_native()) is type(frame)
    assert [m.name for m in sf.evaluate(release, metrics="loss").measures] == ["loss"]
    assert [m.name for m in sf.evaluate(frame, frame, "loss", roles=ROLES).measures] == ["loss"]
    assert sf.evaluate(frame, frame, [sf.Loss()], roles=ROLES).measures[0].raw == 0


@pytest.mark.parametrize(
    "verb",
    [
        lambda: sf.assess(TABLE),
        lambda: sf.judge(TABLE, "k_anonymity"),
        lambda: sf.anonymize(TABLE, sf.KAnonymity(5), sf.GlobalRecoding()),
        lambda: sf.evaluate(TABLE, TABLE),
        lambda: sf.attack(TABLE, TABLE),
    ],
)
def test_a_frame_without_roles_is_refused_with_what_to_call(verb):
    with pytest.raises(SchemaError, match=r"call sf\.read\(frame\)\.with_roles\("):
        verb()


def test_every_column_of_a_release_needs_a_role():
    with pytest.raises(SchemaError, match=r"'pay'.* has no role"):
        sf.anonymize(TABLE, sf.KAnonymity(5), sf.GlobalRecoding(), roles={"quasi": "age"})


def test_a_recipe_reads_the_values_of_a_frame_as_it_says():
    recipe = sf.Recipe(
        sf.read(TABLE).with_roles(**ROLES).schema,
        (sf.KAnonymity(5),),
        (sf.GlobalRecoding(),),
        intake=sf.read(TABLE, missing_values=[40]).source.intake,
    )
    release = sf.run(TABLE.to_pandas(), recipe, seed=1)
    assert release.original.column("age").null_count() == 10
    assert release.recipe.intake.missing_values == (40,)


def test_a_file_that_was_cut_otherwise_than_the_recipe_says_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("age\n30\n40\n")
    schema = sf.read(pl.DataFrame({"age": [1]})).with_roles(quasi="age").schema
    intake = sf.read(tmp_path / "t.csv", header=False).source.intake
    with pytest.raises(
        ParameterError, match=r"with other options \(header\) than were used.*recipe="
    ):
        sf.run(
            sf.read(tmp_path / "t.csv"),
            sf.Recipe(schema, (sf.KAnonymity(1),), (sf.GlobalRecoding(),), intake=intake),
        )


def stages(*, ordered: bool) -> pd.DataFrame:
    levels = ["low", "mid", "high"]
    return pd.DataFrame(
        {"stage": pd.Categorical(["low", "high", "mid"] * 4, categories=levels, ordered=ordered)}
    )


@pytest.mark.parametrize(
    "make", [lambda frame: frame, pa.Table.from_pandas], ids=["pandas", "arrow"]
)
def test_ordered_categories_are_ordinal_with_their_order(make):
    known = sf.read(make(stages(ordered=True))).with_roles(quasi="stage").schema["stage"]
    assert (known.kind, known.order) == (Kind.ORDINAL, ("low", "mid", "high"))
    plain = sf.read(make(stages(ordered=False))).with_roles(quasi="stage").schema["stage"]
    assert (plain.kind, plain.order) == (Kind.NOMINAL, None)


def test_what_happens_to_the_index_is_noted_once():
    frame = stages(ordered=True)
    assert sf.read(frame).source.notes == ()
    named = frame.set_index(pd.Index([f"p{i}" for i in range(12)], name="patient"))
    dataset = sf.read(named).with_roles(quasi="stage").take(np.arange(5))
    assert len(dataset.source.notes) == 1 and "index" in dataset.source.notes[0]
    assert dataset.columns == ["stage"]


def test_options_about_values_go_with_frames_and_others_do_not():
    frame = pd.DataFrame([[1, 2], [-9, 4]], columns=["a", "a"])
    with pytest.raises(SchemaError, match=r"number 2.*rename_duplicates=True"):
        sf.read(frame)
    dataset = sf.read(frame, rename_duplicates=True, missing_values=[-9])
    assert dataset.columns == ["a", "a_2"]
    assert dataset.column("a").null_count() == 1
    with pytest.raises(ParameterError, match="the reading option header does not apply"):
        sf.read(TABLE, header=True)
    with pytest.raises(ParameterError, match="read already"):
        sf.read(sf.read(TABLE), missing_values=[1])


TYPED = pl.DataFrame(
    {
        "n": pl.Series(range(20, 60), dtype=pl.Int16),
        "u": pl.Series([i % 9 for i in range(40)], dtype=pl.UInt8),
        "f": pl.Series([i / 7 for i in range(40)], dtype=pl.Float32),
        "d": [dt.date(2020, 1, 1) + dt.timedelta(days=i) for i in range(40)],
    }
)


def typed(kind: str):
    frames = {
        "polars": lambda: TYPED,
        "pandas": TYPED.to_pandas,
        "nullable": lambda: TYPED.to_pandas().convert_dtypes(),
        "arrow": TYPED.to_arrow,
    }
    return frames[kind]()


def types(frame) -> list[str]:
    return [str(t) for t in (frame.schema.types if isinstance(frame, pa.Table) else frame.dtypes)]


@pytest.mark.parametrize("kind", ["polars", "pandas", "nullable", "arrow"])
def test_noise_keeps_the_types_it_can(kind):
    frame = typed(kind)
    roles = {"quasi": ["n"], "keep": ["u", "f", "d"]}
    options = {
        "roles": roles,
        "seed": 1,
        "options": sf.AnonymizeOptions(accept={"d": {"implies": "n", "because": "both count up"}}),
    }
    whole = sf.AddNoise(["n", "f"], alpha=0.1, keep_integers=True)
    released = sf.anonymize(frame, sf.KAnonymity(1), whole, **options).released.to_native()
    assert types(released) == types(frame)
    loose = sf.AddNoise(["n", "f"], alpha=0.1)  # fractions do not fit into whole numbers
    released = sf.anonymize(frame, sf.KAnonymity(1), loose, **options).released
    assert released.column("n").dtype == pl.Float64 and released.column("f").dtype == pl.Float32


@pytest.mark.parametrize("kind", ["polars", "pandas", "nullable", "arrow"])
def test_mondrian_keeps_the_types_of_columns_it_releases_as_they_were(kind):
    frame = typed(kind)
    roles = {"quasi": ["n", "d"], "keep": ["u", "f"]}
    released = sf.anonymize(
        frame, sf.KAnonymity(1), sf.Mondrian(), roles=roles, seed=1
    ).released.to_native()
    assert types(released) == types(frame)


def test_mondrian_keeps_the_type_where_only_rows_went():
    table = pl.DataFrame(
        {"n": pl.Series([30] * 6 + [31] * 6 + [77], dtype=pl.Int16), "m": ["x"] * 13}
    )
    step = sf.Mondrian(budget=0.2)
    release = sf.anonymize(
        table, sf.KAnonymity(5), step, roles={"quasi": ["n"], "keep": "m"}, seed=1
    )
    assert release.released.column("n").dtype == pl.Int16
    assert sorted(release.released.column("n").to_list()) == [30] * 6 + [31] * 6


@pytest.mark.parametrize("meet", [5, sf.KAnonymity, [sf.KAnonymity(2), 3]])
def test_what_is_no_promise_is_refused_in_words(meet):
    with pytest.raises(ParameterError, match=r"meet takes sf.KAnonymity\(5\) or 'k_anonymity:5'"):
        sf.anonymize(TABLE, meet, sf.Mondrian(), roles={"quasi": list(TABLE.columns)})
    with pytest.raises(ParameterError, match=r"steps takes sf.Mondrian\(\) or 'mondrian'"):
        sf.anonymize(TABLE, sf.KAnonymity(2), 7, roles={"quasi": list(TABLE.columns)})


def test_roles_the_wrong_way_round_are_refused_in_words():
    with pytest.raises(ParameterError, match="a column came first"):
        sf.assess(TABLE, roles=dict.fromkeys(TABLE.columns, "quasi"))
