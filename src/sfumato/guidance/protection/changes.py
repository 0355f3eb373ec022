"""Single changes of a recipe: what each does, and how it is written as a flag.

A change is one short line, ``round cost 500``. Names with spaces stand in quotes, as in a shell.
"""

from __future__ import annotations

import dataclasses
import math
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.core import registry
from sfumato.core.pair import TablePair
from sfumato.core.schema import Kind, Role, Schema
from sfumato.core.words import join_words
from sfumato.errors import ParameterError, SchemaError, did_you_mean
from sfumato.guidance.recommendation.answers import roles_of
from sfumato.guidance.recommendation.inspection import decided
from sfumato.methods.formulas.dependence_search import find_dependences
from sfumato.methods.models.k_anonymity import KAnonymity
from sfumato.methods.steps.recoding.global_recoding import GlobalRecoding

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.core.table import Table

CHANGES = {
    "drop": "drop COLUMN",
    "round": "round COLUMN BASE",
    "top_code": "top_code COLUMN HIGHEST",
    "coarser": "coarser COLUMN LEVEL",
    "role": "role COLUMN ROLE",
    "k": "k NUMBER",
}
"""What can be changed, and how it is written."""
EXAMPLES = ", ".join(CHANGES.values())


@dataclasses.dataclass(frozen=True)
class RecipeChange:
    """One change: ``action`` is a key of :data:`CHANGES`; the class size has no column.

    >>> RecipeChange("round", "cost", "500").flag, RecipeChange("round", "cost", "500").description
    ("--change 'round cost 500'", 'round `cost` to 500')
    """

    action: str
    column: str | None
    value: str = ""

    @property
    def text(self) -> str:
        """The change as one line."""
        words = [self.action]
        if self.column is not None:
            words.append(_quoted(self.column))
        if self.value:
            words.append(self.value)
        return " ".join(words)

    @property
    def flag(self) -> str:
        """The flag that applies it."""
        return f"--change {shlex.quote(self.text)}"

    @property
    def description(self) -> str:
        """What it does, in words."""
        sentences = {
            "drop": f"drop `{self.column}`",
            "round": f"round `{self.column}` to {self.value}",
            "top_code": f"report `{self.column}` from {self.value} on as {self.value}",
            "coarser": f"release `{self.column}` at level {self.value} or coarser",
            "role": f"treat `{self.column}` as {self.value}",
            "k": f"ask for classes of {self.value}",
        }
        return sentences[self.action]


def _quoted(name: str) -> str:
    """A name in quotes where it is more than one word; letters of any language need none.

    >>> _quoted("éducation"), _quoted("first name")
    ('éducation', "'first name'")
    """
    if name.replace("_", "").isalnum():
        return name
    return shlex.quote(name)


def change_of(text: str) -> RecipeChange:
    """The change that a line writes; refused where it is none.

    >>> change_of("drop 'first name'").column
    'first name'
    """
    try:
        words = shlex.split(text)
    except ValueError:
        raise ParameterError(f"{text!r} is no change: a quotation mark is not closed") from None
    if not words:
        raise ParameterError(f"a change is one of: {EXAMPLES}")
    action, *arguments = words
    action = action.replace("-", "_")
    if action not in CHANGES:
        hint = did_you_mean(action, list(CHANGES))
        raise ParameterError(f"{action!r} is no change.{hint} A change is one of: {EXAMPLES}")
    form = CHANGES[action]
    if len(arguments) != len(form.split()) - 1:
        raise ParameterError(f"{text!r} is no change; write {form}, with quotes around names")
    if action == "k":
        _require_number(text, arguments[0], action=action)
        return RecipeChange(action, None, arguments[0])
    column, value = arguments[0], "".join(arguments[1:])
    if action in ("round", "top_code", "coarser"):
        _require_number(text, value, action=action)
    if action == "role":
        roles_of(value, column)
    return RecipeChange(action, column, value)


def changes_of(texts: Sequence[str | RecipeChange]) -> tuple[RecipeChange, ...]:
    """Changes, each as it is or as a line."""
    return tuple(text if isinstance(text, RecipeChange) else change_of(text) for text in texts)


def _require_number(text: str, value: str, *, action: str) -> None:
    """Refuse what is no number; bases, levels and class sizes are above 0."""
    is_whole = action in ("k", "coarser")
    try:
        amount = int(value) if is_whole else float(value)
    except ValueError:
        amount = math.nan
    if not math.isfinite(amount) or (amount <= 0 and action != "top_code"):
        kind = "a whole number above 0" if is_whole else "a number"
        raise ParameterError(f"{text!r} needs {kind} at its end; write {CHANGES[action]}")


# What changes do to a search: roles, steps that come first, the class size, levels.


@dataclasses.dataclass(frozen=True)
class ChangePlan:
    """What all changes together mean: roles to decide, steps that come first, the least class size,
    and the lowest level of columns.
    """

    roles: Mapping[str, str]
    first_steps: tuple[Any, ...]
    k: int | None
    levels: Mapping[str, int]


def plan_changes(changes: Sequence[RecipeChange], table: Table) -> ChangePlan:
    """What the changes mean for a table; refused where a column is not there or does not fit.

    Later changes of the same column and kind replace earlier ones.
    """
    _require_columns(changes, table)
    latest = {(change.action, change.column): change for change in changes}
    roles: dict[str, str] = {}
    steps: list[Any] = []
    levels: dict[str, int] = {}
    k = None
    for change in latest.values():
        if change.action == "drop":
            roles[str(change.column)] = str(Role.DROP)
        elif change.action == "role":
            roles[str(change.column)] = change.value
        elif change.action == "coarser":
            levels[str(change.column)] = int(change.value)
        elif change.action == "k":
            k = int(change.value)
        else:
            _require_numeric(change, table)
            steps.append(_STEPS[change.action](change))
    dropped = {name for name, word in roles.items() if word == str(Role.DROP)}
    # A step on a column that is dropped would be refused, and protects nobody.
    kept_steps = tuple(step for step in steps if not dropped & set(step.columns))
    return ChangePlan(roles, kept_steps, k, levels)


def _round(change: RecipeChange) -> Any:
    return registry.build(
        "steps", {"round": {"columns": [change.column], "base": float(change.value)}}
    )


def _top_code(change: RecipeChange) -> Any:
    spec = {"columns": [change.column], "top": float(change.value)}
    return registry.build("steps", {"top_bottom_coding": spec})


_STEPS: dict[str, Callable[[RecipeChange], Any]] = {"round": _round, "top_code": _top_code}


def _require_columns(changes: Sequence[RecipeChange], table: Table) -> None:
    strange = [c for c in changes if c.column is not None and c.column not in table.columns]
    if strange:
        raise SchemaError(
            [
                f"--change {change.text!r}: {table.source.name} has no column"
                f" {change.column!r}.{did_you_mean(str(change.column), table.columns)}"
                for change in strange
            ]
        )


def _require_numeric(change: RecipeChange, table: Table) -> None:
    if not table.dtype(str(change.column)).is_numeric():
        raise SchemaError(
            f"--change {change.text!r}: column {change.column!r} holds no numbers; drop it, or give"
            " it another role"
        )


def is_rounded(table: Table, column: str) -> bool:
    """Whether a column holds numbers that rounding and top coding can be tried on."""
    attribute = table.schema[column]
    return table.dtype(column).is_numeric() and attribute.kind is Kind.NUMERIC


def short_number(value: float) -> str:
    """A number as a flag writes it.

    >>> short_number(500.0), short_number(0.25)
    ('500', '0.25')
    """
    return f"{value:.6g}"


def revealing_columns(table: Table, dropped: str) -> tuple[str, ...]:
    """Columns that would be released and reveal a column that is dropped: without it nobody would
    compare them with it, and they would stand for it.

    ``table`` has the roles of all columns; the dropped one counts as one label for all.
    """
    columns = [name for name in table.columns if Role.DROP not in table.schema[name].roles]
    released = table.drop([name for name in table.columns if name not in columns])
    pair = TablePair.of(table, released)
    revealing: dict[str, None] = {}
    for dependence in find_dependences(pair, quasi=[dropped]).found:
        if dependence.refused:
            revealing |= dict.fromkeys(dependence.columns)
    return tuple(revealing)


def require_hidden(changes: Sequence[RecipeChange], table: Table, quasi: Collection[str]) -> None:
    """Refuse to drop a quasi-identifier that other released columns reveal: whoever knows it would
    find people by them. ``quasi`` are the quasi-identifiers without the changes.
    """
    problems = []
    for change in changes:
        if change.action != "drop" or change.column is None or change.column not in quasi:
            continue
        revealing = revealing_columns(table, change.column)
        if revealing:
            names = join_words(revealing)
            problems.append(
                f"--change {change.text!r} would hide nothing: {names} would be released and"
                f" reveals {change.column!r}; drop {names} too, or keep {change.column!r} as a"
                " quasi-identifier"
            )
    if problems:
        raise SchemaError(problems)


# What a change does to one recipe.


def changed_recipe(recipe: Recipe, change: RecipeChange, table: Table) -> Recipe | None:
    """The recipe with one more change; None where its steps cannot hold it."""
    plan = plan_changes((change,), table)
    if change.action == "drop":
        return recipe_without(recipe, (str(change.column),))
    if change.action == "role":
        schema = decided(table, recipe.schema, plan.roles)
        return dataclasses.replace(recipe, schema=schema)
    if change.action == "coarser":
        return with_levels(recipe, plan.levels)
    if change.action == "k":
        models = (with_class_size(model, int(change.value)) for model in recipe.meet)
        return dataclasses.replace(recipe, meet=tuple(models))
    return dataclasses.replace(recipe, steps=(*plan.first_steps, *recipe.steps))


def recipe_without(recipe: Recipe, columns: Collection[str]) -> Recipe:
    """A recipe where some columns are dropped, and with them what is promised of them and the steps
    that work on nothing else.
    """
    gone = set(columns)
    meet = tuple(m for m in recipe.meet if getattr(m, "sensitive", None) not in gone)
    steps = tuple(
        changed for step in recipe.steps if (changed := _step_without(step, gone)) is not None
    )
    schema = without_columns(recipe.schema, columns)
    return dataclasses.replace(recipe, schema=schema, meet=meet, steps=steps)


def _step_without(step: Any, gone: Collection[str]) -> Any:
    """The step without some columns; None where it works on no other."""
    columns = getattr(step, "columns", None)
    if isinstance(columns, Mapping):
        # A column that follows another one, such as {diagnosis: ward}.
        left: Any = {c: o for c, o in columns.items() if c not in gone and o not in gone}
    else:
        left = columns and tuple(name for name in columns if name not in gone)
    if not columns or len(left) == len(columns):
        return step
    if not left:
        return None
    return dataclasses.replace(step, columns=left)


def without_columns(schema: Schema, columns: Collection[str]) -> Schema:
    """The schema where some columns are dropped."""
    for name in columns:
        schema = schema.replace(name, roles=(Role.DROP,), hierarchy=None)
    return schema


def with_levels(recipe: Recipe, levels: Mapping[str, int]) -> Recipe | None:
    """A recipe whose last step begins at these levels; None where it has no levels of columns."""
    bounds = {name: level for name, level in levels.items() if name in recipe.schema.quasi}
    if not bounds:
        return recipe
    last = recipe.steps[-1]
    begun = None
    if isinstance(last, GlobalRecoding):
        begun = last.begun_at(bounds)
    if begun is None:
        return None
    return dataclasses.replace(recipe, steps=(*recipe.steps[:-1], begun))


def with_class_size(model: Any, k: int) -> Any:
    """The promise of a class size with another one; any other promise as it is."""
    if not isinstance(model, KAnonymity):
        return model
    return dataclasses.replace(model, k=k)
