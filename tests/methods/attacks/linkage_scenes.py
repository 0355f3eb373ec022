"""Scenes for the tests of record linkage: a table, a release of it, and what an intruder has."""

from __future__ import annotations

import numpy as np
import polars as pl

from sfumato.core.attack import Intruder, Scene
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.core.schema import Attribute, Kind, Missing, Role, Schema
from sfumato.core.table import Table

ORDER = ("low", "middle", "high", "top")


def schema_of(columns, *, wildcard=()):
    """Names that start with n are numbers, with o ordered, with t dates, all others categories."""
    found = {}
    for name in columns:
        kind = {"n": Kind.NUMERIC, "o": Kind.ORDINAL, "t": Kind.DATE}.get(name[0], Kind.NOMINAL)
        order = ORDER if kind is Kind.ORDINAL else None
        missing = Missing.WILDCARD if name in wildcard else Missing.CATEGORY
        found[name] = Attribute((Role.QUASI,), kind, None, missing, order)
    return Schema(found)


def scene_of(
    original,
    released,
    *,
    rows=None,
    intruder=None,
    truth=None,
    seed=1,
    seconds=3600.0,
    wildcard=(),
    knows=None,
):
    """A scene from mappings of columns; the intruder has the original unless told otherwise."""
    original = pl.DataFrame(original)
    released = pl.DataFrame(released)
    register = original if intruder is None else pl.DataFrame(intruder)
    schema = schema_of(original.columns, wildcard=wildcard)
    table = Table(original, schema)
    origin = np.arange(len(released)) if rows is None else np.asarray(rows, dtype=np.int64)
    pair = TablePair(
        table,
        Table(released, Schema({n: schema[n] for n in released.columns}), origin=origin),
        origin,
    )
    truth = np.arange(len(register)) if truth is None else np.asarray(truth, dtype=np.int64)
    known = tuple(register.columns) if knows is None else tuple(knows)
    return Scene(pair, Intruder(Table(register), known, truth), seed=Seed(seed), seconds=seconds)


def shuffled(scene, seed=5):
    """The same scene with the rows of release and register in another order."""
    rng = np.random.default_rng(seed)
    ours, theirs = (
        rng.permutation(len(scene.pair.released)),
        rng.permutation(len(scene.intruder.file)),
    )
    pair = TablePair(scene.pair.original, scene.pair.released.take(ours), scene.pair.rows[ours])
    intruder = Intruder(
        scene.intruder.file.take(theirs), scene.intruder.knows, scene.intruder.truth[theirs]
    )
    return Scene(pair, intruder, seed=scene.seed, seconds=scene.seconds)


def numbers(seed, rows, columns, noise=0.2):
    """Correlated normal columns and a noisy copy."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, columns)) @ rng.normal(size=(columns, columns))
    y = x + rng.normal(size=x.shape) * x.std(axis=0) * noise * (1 + 3 * (np.arange(columns) % 3))
    return ({f"n{k}": values[:, k] for k in range(columns)} for values in (x, y))
