"""What gestures on the stages *Data* and *Hierarchies* change in a recipe: pure functions from a
recipe to another one.

The sentences for the history hold names of columns and counts, never a value of the table.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sfumato.core import registry
from sfumato.core.fields import Fields
from sfumato.core.recipe import Recipe
from sfumato.core.schema import Attribute, Kind, Missing, Role, Schema
from sfumato.core.words import join_words
from sfumato.interfaces.web.choices import bounds_of, levels_of, with_lattice_step

# Roles that most columns have, in the order of their buttons.
SEGMENTS = ("drop", "quasi", "sensitive", "keep")

# What a column can be said to be, and the roles that this means.
CHOICES: dict[str, tuple[Role, ...]] = {
    "drop": (Role.DROP,),
    "quasi": (Role.QUASI,),
    "sensitive": (Role.SENSITIVE,),
    "keep": (Role.KEEP,),
    "quasi and sensitive": (Role.QUASI, Role.SENSITIVE),
    "quasi and stratum": (Role.QUASI, Role.STRATUM),
    "weight": (Role.WEIGHT,),
    "person": (Role.PERSON,),
    "household": (Role.HOUSEHOLD,),
    "stratum": (Role.STRATUM,),
    "ask": (Role.ASK,),
}

# Classes are called small below this where no promise names a k.
USUAL_K = 5


class Edited(NamedTuple):
    """A changed recipe, and what is written in the history about it."""

    recipe: Recipe
    sentence: str


def choice_of(attribute: Attribute) -> str:
    """What a column is said to be, as :data:`CHOICES` calls it; rare combinations in their own
    words.

    >>> choice_of(Attribute((Role.QUASI, Role.STRATUM)))
    'quasi and stratum'
    """
    names = (name for name, roles in CHOICES.items() if roles == attribute.roles)
    return next(names, join_words(attribute.roles))


def with_role(recipe: Recipe, columns: Sequence[str], choice: str, suggested: Fields) -> Edited:
    """Say what columns are. A column that becomes a quasi-identifier without a hierarchy gets the
    suggested one.

    A hierarchy stays with quasi-identifiers and sensitive columns only; levels that were set for
    what is no quasi-identifier any more go.
    """
    roles = CHOICES[choice]
    attributes = dict(recipe.schema.attributes)
    for name in columns:
        old = attributes.get(name, Attribute(roles))
        climbs = {Role.QUASI, Role.SENSITIVE} & set(roles)
        hierarchy = old.hierarchy if climbs else None
        if Role.QUASI in roles and hierarchy is None:
            hierarchy = suggested.get(name)
        attributes[name] = dataclasses.replace(old, roles=roles, hierarchy=hierarchy)
    changed = dataclasses.replace(recipe, schema=Schema(attributes))
    gone = [name for name in columns if Role.QUASI not in roles]
    return Edited(_without_levels(changed, gone), f"{_column_words(columns)}: {choice}")


def with_kind(recipe: Recipe, columns: Sequence[str], kind: str) -> Edited:
    """Say how the values of columns compare."""
    return Edited(_with(recipe, columns, kind=Kind(kind)), f"{_column_words(columns)}: {kind}")


def with_missing(recipe: Recipe, columns: Sequence[str], rule: str) -> Edited:
    """Say what missing values of columns equal."""
    words = "equal to every value"
    if Missing(rule) is Missing.CATEGORY:
        words = "a value like others"
    return Edited(
        _with(recipe, columns, missing=Missing(rule)),
        f"{_column_words(columns)}: missing values are {words}",
    )


def with_hierarchy(
    recipe: Recipe, column: str, hierarchy: Any, words: str, *, top: int | None
) -> Edited:
    """Give a column another hierarchy; levels set for it that the new one does not have go."""
    changed = _with(recipe, [column], hierarchy=hierarchy)
    bound = bounds_of(recipe).get(column)
    if bound is not None and (top is None or bound[1] > top):
        changed = _without_levels(changed, [column])
    return Edited(changed, f"{column}: {words}")


def without_columns(recipe: Recipe, columns: Sequence[str]) -> Edited:
    """Take columns out of the recipe that the table does not have."""
    changed = dataclasses.replace(recipe, schema=recipe.schema.without(columns))
    return Edited(
        _without_levels(changed, columns), f"{_column_words(columns)}: no longer in the table"
    )


def with_missing_codes(recipe: Recipe, codes: Mapping[str, Sequence[Any]]) -> Edited:
    """Read codes of single columns as missing values."""
    missing_in = {
        **recipe.intake.missing_in,
        **{name: tuple(values) for name, values in codes.items()},
    }
    intake = dataclasses.replace(recipe.intake, missing_in=missing_in)
    return Edited(
        dataclasses.replace(recipe, intake=intake),
        f"{_column_words(list(codes))}: codes count as missing values",
    )


# Levels: those of the step that gives whole columns one.


def with_level(recipe: Recipe, column: str, level: int | None) -> Edited:
    """Set the level of a column, or (None) let the search choose it."""
    if level is None:
        return Edited(_without_levels(recipe, [column]), f"{column}: the search chooses the level")
    levels = {**levels_of(recipe), column: (level, level)}
    return Edited(with_lattice_step(recipe, levels=levels), f"{column}: level {level}")


def with_recoding(recipe: Recipe) -> Edited:
    """Recode whole columns, instead of what formed classes so far; steps that mask single columns
    stay.
    """
    steps = registry.family("steps")
    name = next(name for name in steps if steps[name].surveys)
    step = registry.build("steps", {name: {"budget": 0.02}})
    masking_steps = tuple(old for old in recipe.steps if old.masks)
    return Edited(
        dataclasses.replace(recipe, steps=(*masking_steps, step)), "Whole columns are recoded"
    )


def _without_levels(recipe: Recipe, columns: Sequence[str]) -> Recipe:
    levels = {name: bound for name, bound in levels_of(recipe).items() if name not in columns}
    return with_lattice_step(recipe, levels=levels)


def crowd_of(recipe: Recipe, default: int = USUAL_K) -> int:
    """The k below which a class is called small: that of the strongest k-anonymity promised."""
    return max((model.crowd for model in recipe.meet if model.crowd is not None), default=default)


def _with(recipe: Recipe, columns: Sequence[str], **changes: Any) -> Recipe:
    schema = recipe.schema
    for name in columns:
        schema = schema.replace(name, **changes)
    return dataclasses.replace(recipe, schema=schema)


def _column_words(columns: Sequence[str]) -> str:
    if len(columns) <= 3:
        return ", ".join(columns)
    return f"{len(columns)} columns"
