"""What every model of the registry keeps, whoever wrote it: a new one is tested here without a line
about it.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core import recipe_files as recipes
from sfumato.core.choices import COLUMN, is_number, required_fields, variants, weakest
from sfumato.core.evidence import gather
from sfumato.core.model import Facts, Model, Verdict
from sfumato.core.recipe import Recipe
from sfumato.core.registry import build, describe, family, implied_by, write
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.table import Table
from sfumato.errors import ParameterError, RecipeError, SchemaError
from tests.methods.models.counted_tables import TREE, VALUES

MODELS = family("models")
EACH = pytest.mark.parametrize("cls", MODELS.values(), ids=MODELS)
EVERY = [model for cls in MODELS.values() for model in variants(cls)]

SCHEMA = Schema(
    {
        "a": Attribute((Role.QUASI,)),
        "b": Attribute((Role.QUASI,)),
        COLUMN: Attribute((Role.SENSITIVE,), kind=Kind.NUMERIC, hierarchy=TREE),
        "w": Attribute((Role.WEIGHT,), kind=Kind.NUMERIC),
    }
)


def fitted(model, schema):
    """The model about the columns of a table: its first sensitive one, its first
    quasi-identifier.
    """
    changes = {}
    if getattr(model, "sensitive", None) == COLUMN:
        changes["sensitive"] = schema.columns(Role.SENSITIVE)[0]
    if hasattr(model, "combinations"):
        changes["combinations"] = [[schema.quasi[0]]]
    if hasattr(model, "rules"):
        changes["rules"] = [f"{schema.quasi[0]} -> {schema.columns(Role.SENSITIVE)[0]}"]
    return dataclasses.replace(model, **changes) if changes else model


# estimates of population uniqueness solve equations: a few of its many variants do for random
# tables
FITTED = [
    fitted(m, SCHEMA)
    for m in EVERY
    if m.name != "population_uniqueness" or m.share == m.fraction == 0.5
]


def judged_all(dataset, models):
    """The evidence and, per model, the verdict, or None where it refuses the table by a named
    error.

    All that can be asked for is there: the table is its own original and population, and one attack
    knows nothing.
    """
    rows = max(1, len(dataset))
    blind = np.full((len(dataset), rows), 1 / rows)
    fitting = [model for model in models if answer(model.needs, dataset.schema) is not None]
    evidence = gather(dataset, fitting, original=dataset, population=dataset, posteriors=[blind])
    return evidence, [
        answer(model.judge, evidence) if any(model is one for one in fitting) else None
        for model in models
    ]


def answer(act, given):
    """What a model says of a schema or a table, or None where it refuses it by a named error."""
    try:
        return act(given)
    except SchemaError:
        return None


def refusal(model, dataset, evidence):
    """Why a model refuses a table: by its schema, or by what is in it."""
    try:
        model.needs(dataset.schema)
        return str(model.judge(evidence))
    except SchemaError as error:
        return str(error)


@st.composite
def random_datasets(draw):
    row = st.tuples(
        st.sampled_from("xy"),
        st.sampled_from(["u", "v", None]),
        st.sampled_from(VALUES),
        st.integers(1, 3),
    )
    rows = draw(st.lists(row, min_size=1, max_size=14))
    types = dict(zip(SCHEMA.attributes, (pl.String, pl.String, pl.String, pl.Int64), strict=True))
    return Table(pl.DataFrame(rows, schema=types, orient="row"), SCHEMA)


# --- what it is ---


@EACH
def test_builds_from_generated_parameters(cls):
    assert variants(cls)
    assert all(isinstance(model, Model) for model in variants(cls))


@pytest.mark.slow
@EACH
def test_describes_itself(cls):
    assert isinstance(cls.facts, Facts)
    doc = cls.__doc__ or ""
    assert "Reference:" in doc and "math::" in doc
    described = describe(cls)
    json.dumps(described, allow_nan=False)
    assert all(field["meaning"] for field in described["fields"])
    assert cls.name in implied_by(cls.name)
    for model in variants(cls):
        assert (
            isinstance(model.monotone, bool)
            and isinstance(model.shrinking, bool)
            and model.scope in ("class", "table")
        )
        assert not (model.shrinking and not model.monotone), (
            "what never suppresses more is never broken by merging"
        )


@EACH
def test_a_promise_tells_its_degree(cls):
    """Models that differ in a required number differ in their promise."""
    numbers = [name for name in required_fields(cls) if is_number(cls, name)]
    by_number = {}
    for model in variants(cls):
        by_number.setdefault(
            tuple(getattr(model, n) for n in numbers if n != "fraction"), set()
        ).add(model.promise)
    assert all(not (one & other) for one, other in itertools.combinations(by_number.values(), 2))


@EACH
def test_recipe_round_trip(cls):
    for model in variants(cls):
        assert build("models", write(model)) == model
        assert recipes.parse(recipes.dump(Recipe(SCHEMA, (model,)))).meet == (model,)


@EACH
def test_wrong_values_are_refused(cls):
    good = variants(cls)[0]
    given = {field.name: getattr(good, field.name) for field in dataclasses.fields(cls)}
    for name in given:
        wrong = ["many", -1, float("nan"), True] if is_number(cls, name) else [-1]
        for value in wrong:
            with pytest.raises(ParameterError) as caught:
                cls(**{**given, name: value})
            assert "many" not in str(caught.value)
    with pytest.raises((ParameterError, TypeError)):
        cls(**given, nothing=1)
    with pytest.raises(RecipeError, match=cls.name):
        build("models", {cls.name: {**write(good)[cls.name], "nothing": 1}})


# --- what it says ---

TABLES = {
    "salaries": lambda: examples.salaries(grouping="spread"),
    "hospital": lambda: examples.hospital(rows=80),
    "survey": lambda: examples.survey(rows=80),
}


def words_of(dataset):
    """Values that are words: numbers and yes or no would be found in any sentence."""
    found = set()
    for name in dataset.columns:
        found |= {
            str(v)
            for v in dataset.column(name).unique().drop_nulls()
            if re.fullmatch(r"[^\d\s]{4,}", str(v))
        }
    return (
        found - set(dataset.columns) - {"diverse"}
    )  # a sex of the hospital table, and a word of our own


@pytest.mark.parametrize("name", TABLES)
def test_verdicts_on_bundled_tables(name):
    dataset = TABLES[name]()
    words = re.compile("|".join(rf"\b{re.escape(word)}\b" for word in words_of(dataset)) or "(?!)")
    models = [fitted(model, dataset.schema) for model in EVERY]
    evidence, verdicts = judged_all(dataset, models)
    for model, verdict in zip(models, verdicts, strict=True):
        if verdict is not None:
            check_verdict(model, evidence, verdict)
            assert not words.search(verdict.sentence), verdict.sentence
            json.dumps(verdict.to_dict(), allow_nan=False)
    silent = set(MODELS) - {verdict.model for verdict in verdicts if verdict is not None}
    for model in (model for model in models if model.name in silent):
        assert any(
            repr(column) in refusal(model, dataset, evidence) for column in dataset.columns
        ), "what is in the way"
    assert not silent or name != "salaries", "a table that every model can judge"


def check_verdict(model, evidence, verdict):
    assert (
        isinstance(verdict, Verdict)
        and verdict.model == model.name
        and verdict.promise == model.promise
    )
    assert verdict.sentence and not verdict.sentence.endswith(".")
    assert bool(verdict) == verdict.holds == (not len(verdict.failing))
    assert len(verdict.failing_sizes) == len(verdict.failing) and (verdict.records > 0) == bool(
        len(verdict.failing)
    )
    assert 0 <= verdict.records <= evidence.classes.total
    if model.scope == "class":
        assert len(verdict.per_class) == len(evidence.classes)
        assert verdict.failing.tolist() == np.flatnonzero(model.failing(evidence)).tolist()
        assert verdict.records == evidence.classes.records[verdict.failing].sum()


@pytest.mark.slow
@given(random_datasets())
def test_verdicts_on_random_tables(dataset):
    evidence, verdicts = judged_all(dataset, FITTED)
    for model, verdict in zip(FITTED, verdicts, strict=True):
        if verdict is not None:
            check_verdict(model, evidence, verdict)


def test_reached_by_a_search_or_not_by_a_clear_error():
    dataset = TABLES["salaries"]()
    models = [fitted(model, dataset.schema) for model in EVERY]
    evidence, verdicts = judged_all(dataset, models)
    for model, verdict in zip(models, verdicts, strict=True):
        if verdict is None:
            continue
        needs = model.needs(dataset.schema)
        if needs.pairs or needs.posteriors:
            with pytest.raises(
                ParameterError, match="cannot be reached by recoding and suppressing"
            ):
                model.failing(evidence)
        else:
            failing = model.failing(evidence)
            assert failing.dtype == np.bool_ and len(failing) == len(evidence.classes)
            assert failing.any() != verdict.holds, model.promise


@EACH
def test_an_empty_table_keeps_every_promise(cls):
    empty = Table(
        pl.DataFrame(schema={"a": pl.String, "b": pl.String, COLUMN: pl.String, "w": pl.Int64}),
        SCHEMA,
    )
    models = [fitted(model, SCHEMA) for model in variants(cls)]
    verdicts = [verdict for verdict in judged_all(empty, models)[1] if verdict is not None]
    assert verdicts
    for verdict in verdicts:
        assert (
            verdict.holds
            and verdict.attained is None
            and "empty" in verdict.sentence
            and verdict.records == 0
        )


@pytest.mark.slow
@given(dataset=random_datasets(), data=st.data())
def test_row_order_does_not_matter(dataset, data):
    order = np.array(data.draw(st.permutations(range(len(dataset)))), dtype=np.int64)
    other = Table(dataset.to_polars()[order], SCHEMA)
    for one, two in zip(judged_all(dataset, FITTED)[1], judged_all(other, FITTED)[1], strict=True):
        assert (one is None) == (two is None)
        assert one is None or two is None or one.to_dict() == two.to_dict()


# --- how models relate ---

IMPLIED = [(one, other) for one in FITTED for other in FITTED if one.implies(other)]


def test_implication_is_reflexive():
    for model in FITTED:
        assert model.implies(model), model.promise


@pytest.mark.slow
@given(random_datasets())
def test_implication_is_sound(dataset):
    verdicts = judged_all(dataset, FITTED)[1]
    holds = {
        id(m): None if verdict is None else verdict.holds
        for m, verdict in zip(FITTED, verdicts, strict=True)
    }
    for one, other in IMPLIED:
        if holds[id(one)] and holds[id(other)] is not None:
            assert holds[id(other)], f"{one.promise} does not imply {other.promise}"


@EACH
def test_the_weakest_is_implied_by_all_others(cls):
    words = {
        "sensitive": COLUMN,
        "mechanism": "laplace",
        "scale": 2.0,
        "fraction": 0.5,
        "combinations": [[COLUMN]],
        "rules": [COLUMN],
    }
    given = {
        f.name: words[f.name]
        for f in dataclasses.fields(cls)
        if f.name in words and f.name in required_fields(cls)
    }
    given |= {"scale": 2.0} if "mechanism" in given else {}
    least, open_fields = weakest(cls, given)
    assert open_fields
    rest = [f.name for f in dataclasses.fields(cls) if f.name not in open_fields]
    same = [
        m for m in variants(cls) if all(getattr(m, name) == getattr(least, name) for name in rest)
    ]
    assert same and all(model.implies(least) for model in same)
