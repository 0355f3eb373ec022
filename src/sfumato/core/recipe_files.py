"""Recipes as files: YAML in, objects out, and back.

::

    sfumato: 1
    columns:
      name: {role: drop}
      age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [5, 10, 20]}}}
      diagnosis: {role: sensitive}
    meet:
      - k_anonymity: {k: 5}
    steps:
      - global_recoding: {suppress: tuple, budget: 0.02}
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sfumato.core import registry
from sfumato.core.acceptance import (
    Acceptance,
    acceptance_problems,
    read_acceptances,
    write_acceptances,
)
from sfumato.core.fields import Document, Fields
from sfumato.core.limits import BOUNDS, limits_of, plain_limits, written_limits
from sfumato.core.placed import PlacedStep, table_problems
from sfumato.core.publication import Publication, read_publication
from sfumato.core.recipe import PROPOSERS, VERSION, Agreement, Recipe, TableDescription
from sfumato.core.relations import Link, links_of, with_keys
from sfumato.core.schema import Attribute, Kind, Missing, Schema
from sfumato.core.shape import (
    DATA,
    ONE_TABLE,
    PEOPLE,
    SEVERAL_TABLES,
    Shape,
    is_shape,
    known_shapes,
)
from sfumato.core.source import KEYS as READING
from sfumato.core.source import NOTHING_SAID, Intake, checked_codes
from sfumato.core.words import inflect, join_words
from sfumato.core.yaml_text import read_yaml, write_yaml
from sfumato.errors import ParameterError, RecipeError, SfumatoError, did_you_mean

SECTIONS = (
    "sfumato",
    "shape",
    "proposed_from",
    "publish",
    *READING,
    "columns",
    "people",
    "tables",
    "meet",
    "steps",
    "limits",
    "contract",
    "accept",
)
SHAPES_WITH: Mapping[str, Callable[[Shape], bool]] = {
    "columns": lambda shape: shape not in SEVERAL_TABLES,
    "people": lambda shape: shape not in SEVERAL_TABLES | ONE_TABLE,
    "tables": SEVERAL_TABLES.__contains__,
    "accept": ONE_TABLE.__contains__,
}
"""Whether recipes for a shape of data have a section; all recipes have the other sections."""
COLUMN_KEYS = (
    "role",
    "kind",
    "hierarchy",
    "missing",
    "missing_values",
    "order",
    "unit",
    "bounds",
    "domain",
    "free_text",
)
TABLE_KEYS = ("file", "key", "belongs_to", "orphans", "columns")
KEPT = "stays with the owner"
MAX_BYTES = 16 * 1024 * 1024


def load(path: str | Path) -> Recipe:
    """Read the recipe file of a table; everything wrong with it is reported at once."""
    file = Path(path)
    return from_dict(read_document(file), base=file.parent, name=str(file))


def load_any(path: str | Path) -> Recipe:
    """Read a recipe file of any shape of data."""
    file = Path(path)
    return any_from_dict(read_document(file), base=file.parent, name=str(file))


def read_document(file: Path) -> Any:
    """The plain data of a recipe file."""
    try:
        with file.open("rb") as handle:
            data = handle.read(MAX_BYTES + 1)  # a device never ends
        if len(data) > MAX_BYTES:
            raise RecipeError(
                f"{file} is larger than {MAX_BYTES // 1024 // 1024} MB and cannot be a "
                "recipe; check the path"
            )
        # Some editors put a mark of the encoding before the first letter; -sig takes it off.
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RecipeError(f"{file} is not UTF-8 text; save the recipe as UTF-8") from None
    except OSError as error:
        raise RecipeError(f"cannot read the recipe {file}: {error.strerror}") from None
    return read_yaml(text, str(file))


def parse(text: str, *, base: Path | str = ".", name: str = "the recipe") -> Recipe:
    """Make a recipe from YAML text."""
    return from_dict(read_yaml(text, name), base=base, name=name)


def from_dict(document: object, *, base: Path | str = ".", name: str = "the recipe") -> Recipe:
    """Make the recipe of a table from plain data; one about data of another shape is refused."""
    recipe = any_from_dict(document, base=base, name=name)
    if recipe.shape != Recipe.shape:
        raise RecipeError(
            f"{name} is a recipe for data of shape {recipe.shape}; this command takes recipes of "
            "one table only. Use sfumato assess or sfumato run: sfumato run DATA -r RECIPE -o out"
        )
    return recipe


def any_from_dict(document: object, *, base: Path | str = ".", name: str = "the recipe") -> Recipe:
    """Make a recipe of any shape of data from plain data."""
    if not isinstance(document, Mapping):
        raise RecipeError(
            f"{name} must be a mapping with 'sfumato: {VERSION}', columns, meet and steps"
        )
    # another file: what it holds is not shown
    if document and not any(section in SECTIONS for section in document):
        raise RecipeError(
            f"{name} is not a recipe: it has none of the sections {', '.join(SECTIONS)}"
        )
    problems = _Problems()
    for section in document:
        if section not in SECTIONS:
            hint = did_you_mean(str(section), SECTIONS)
            problems.append(f"{section!r} is not a section of a recipe.{hint}")
    version = document.get("sfumato", VERSION)
    # True equals 1 in Python, and is no version.
    if version != VERSION or isinstance(version, bool):
        problems += [
            (
                f"this is recipe version {version!r}, but this sfumato reads version {VERSION}; "
                "install the sfumato that wrote it, or update the recipe"
            )
        ]
    # The shape that the recipe says; else several tables where it has such, and one otherwise.
    shape = Shape.TABLES if "tables" in document else Recipe.shape
    word = document.get("shape", shape)
    if word != shape and is_shape(word):
        shape = Shape(word)
    elif word != shape:
        hint = did_you_mean(str(word), map(str, known_shapes()))
        problems.append(f"shape {str(word)!r} is not known.{hint}")
    for section, has_section in SHAPES_WITH.items():
        if document.get(section) is not None and not has_section(shape):
            shapes = [str(candidate) for candidate in known_shapes() if has_section(candidate)]
            of_shapes = f"data of shape {join_words(shapes, 'or')}"
            if shape in SEVERAL_TABLES:
                hint = "; describe columns in 'tables', with each table"
            else:
                hint = ""
            problems.append(
                f"{section!r} belongs to {of_shapes}, but this recipe has shape {shape}{hint}"
            )
    tables = _tables(problems, document, shape, base)
    intake = _intake(problems, document)
    meet = _objects(problems, document, "meet", partial(registry.build, "models", shape=shape))
    steps = _objects(problems, document, "steps", partial(registry.build, "steps", shape=shape))
    contract = _objects(problems, document, "contract", partial(_agreement, shape=shape))
    limits = document.get("limits") or {}
    if not isinstance(limits, Mapping):
        problems += ["'limits' must map names to numbers"]
        limits = {}
    elif limits:
        limits = plain_limits(limits)
        problems += registry.limit_problems(limits, shape)
    accept: tuple[Acceptance, ...] = ()
    if document.get("accept") is not None and shape in ONE_TABLE:
        accept = problems.collect(read_acceptances, document["accept"]) or ()
        if not problems:  # else columns or steps may be lacking, and would be reported again
            problems += acceptance_problems(accept, tables[DATA].schema, steps)
    # Limits that say something wrong are reported, and cannot be looked into.
    if shape in SEVERAL_TABLES and tables:
        understood_limits = {} if problems else limits
        metrics = [bound.metric for bound in contract]
        sections = {"meet": meet, "steps": steps, "contract": metrics}
        problems += table_problems(sections, understood_limits, tables)
    proposer = document.get("proposed_from")
    if proposer is not None and proposer not in PROPOSERS:
        problems += [
            f"proposed_from names the command that proposed the recipe: {', '.join(PROPOSERS)}"
        ]
    publication = Publication()
    if document.get("publish") is not None:
        publication = problems.collect(read_publication, document["publish"]) or publication
    if problems:
        raise RecipeError([f"{name}: {problem}" for problem in _said_once(problems)])
    (first, first_table), *other_tables = tables.items()
    return Recipe(
        first_table.schema,
        meet=tuple(meet),
        steps=tuple(steps),
        limits=dict(limits),
        contract=tuple(contract),
        intake=intake,
        accept=accept,
        base=Path(base),
        proposed_from=proposer,
        shape=shape,
        others=dict(other_tables),
        first=first,
        file=first_table.file,
        publication=publication,
    )


def _schema(problems: _Problems, columns: object, base: Path | str) -> Schema:
    """The columns of a table, as far as they map names to what they are."""
    if not isinstance(columns, Mapping):
        problems += ["'columns' must map column names to descriptions, like 'age: {role: quasi}'"]
        columns = {}
    problems += ["a column name must be text" for column in columns if not isinstance(column, str)]
    attributes = {}
    for column, spec in columns.items():
        attribute = problems.collect(_attribute, spec, f"column {column!r}", Path(base))
        if attribute is not None:
            attributes[column] = attribute
    return Schema(attributes)


def _tables(
    problems: _Problems, document: Fields, shape: Shape, base: Path | str
) -> dict[str, TableDescription]:
    """The tables that a recipe is about: the one or two of most shapes, or several with their
    keys.
    """
    if shape in SEVERAL_TABLES:
        return _related(problems, document, base)
    tables = {DATA: TableDescription(_schema(problems, document.get("columns") or {}, base))}
    # The people's own table stands beside: ``people: {file: people.csv, columns: {…}}``.
    people = document.get("people")
    if people is None:
        return tables
    file = people.get("file") if isinstance(people, Mapping) else None
    is_table = isinstance(people, Mapping) and not set(people) - {"file", "columns"}
    if is_table and isinstance(file, str | None):
        schema = _schema(problems, people.get("columns") or {}, base)
        tables[PEOPLE] = TableDescription(schema, file)
    else:
        problems += [
            (
                "'people' must describe the people's own columns, like '{file: people.csv, "
                "columns: {…}}'"
            )
        ]
    return tables


def _related(
    problems: _Problems, document: Fields, base: Path | str
) -> dict[str, TableDescription]:
    """Several tables, ``tables: {visits: {file: visits.csv, key: visit_id, belongs_to: {people:
    person_id}, columns: {…}}}``.
    """
    specs = document.get("tables")
    if (
        not isinstance(specs, Mapping)
        or not specs
        or not all(isinstance(name, str) for name in specs)
    ):
        problems += [
            (
                "'tables' must map names to tables, like 'visits: {file: visits.csv, belongs_to:"
                " {people: person_id}, columns: {…}}'"
            )
        ]
        return {}
    if len({name.casefold() for name in specs}) < len(specs):
        problems += [
            (
                "two tables have names that differ only in capitals, so they would share a "
                "file; rename one"
            )
        ]
    read_tables = {
        name: problems.collect(_related_table, name, spec, base) for name, spec in specs.items()
    }
    tables: dict[str, TableDescription] = {
        name: table for name, table in read_tables.items() if table is not None
    }
    # Without one table its children would look as if they belonged to none.
    if len(tables) < len(specs):
        return {}
    # People first and every table behind its parent, which is the order of the ties.
    schemas = {name: table.schema for name, table in tables.items()}
    links = problems.collect(links_of, schemas) or ()
    return {link.table: tables[link.table] for link in links}


def _related_table(name: str, spec: object, base: Path | str) -> TableDescription:
    # Problems of their own, so that each can say which table it is about.
    problems, where = _Problems(), f"table {name!r}"
    if not isinstance(spec, Mapping) or not isinstance(spec.get("file"), str | None):
        raise RecipeError(
            f"{where} must describe the table, like '{{file: visits.csv, belongs_to: {{people: "
            "person_id}, columns: {…}}'"
        )
    problems += [
        f"{where}: {str(key)!r} is not known.{did_you_mean(str(key), TABLE_KEYS)}"
        for key in spec
        if key not in TABLE_KEYS
    ]
    schema = _schema(problems, spec.get("columns") or {}, base)
    parents = spec.get("belongs_to")
    if not isinstance(parents, Mapping | None):
        problems += [
            (
                f"{where}: belongs_to must name a table and the column with its keys, like "
                "'{people: person_id}'"
            )
        ]
        parents = None
    fields = {key: spec[key] for key in ("key", "orphans") if spec.get(key) is not None}
    keyed = problems.collect(lambda: with_keys(name, schema, belongs_to=parents, **fields))
    if problems:
        raise RecipeError([p if p.startswith(where) else f"{where}, {p}" for p in problems])
    return TableDescription(keyed, spec.get("file"))


def _other_codes(column: str, spec: Fields, before: Fields) -> list[str]:
    """Whether the same column of two tables has two lists of codes for missing values."""
    if spec.get("missing_values") == before.get("missing_values"):
        return []
    return [
        (
            f"column {column!r} has different missing_values in two tables; use the same codes, or "
            "rename the column in one"
        )
    ]


def _intake(problems: _Problems, document: Fields) -> Intake:
    """What a recipe says about reading: at its top, and codes for missing values with columns."""
    tables = document.get("tables")
    descriptions = [document.get(PEOPLE), document]
    if isinstance(tables, Mapping):
        descriptions += tables.values()
    columns: Document = {}
    for table in descriptions:
        own = table.get("columns") if isinstance(table, Mapping) else None
        for name, spec in own.items() if isinstance(own, Mapping) else ():
            before = columns.get(name)
            if (
                isinstance(tables, Mapping)
                and isinstance(spec, Mapping)
                and isinstance(before, Mapping)
            ):
                problems += _other_codes(name, spec, before)
            columns[name] = spec
    single = {}
    try:
        for name, spec in columns.items():
            if isinstance(spec, Mapping) and "missing_values" in spec:
                single[name] = checked_codes(spec["missing_values"])
        return Intake.from_recipe(document, single)
    except SfumatoError as error:
        problems += str(error).split("\n")
        return NOTHING_SAID


class _Problems(list[str]):
    """What is wrong with a recipe, gathered so that it is told all at once."""

    def collect(self, make: Callable[..., Any], *args: Any) -> Any:
        """What ``make`` makes; None where it refuses, and what it says is a problem."""
        try:
            return make(*args)
        except SfumatoError as error:
            self.extend(str(error).split("\n"))
            return None


def _said_once(problems: Sequence[str]) -> list[str]:
    """Problems of which the same one of several columns is told once, with the columns.

    >>> _said_once(
    ...     [
    ...         "column 'a': role 'x' is not known",
    ...         "column 'b': role 'x' is not known",
    ...         "this is a recipe of old",
    ...     ]
    ... )
    ["columns 'a', 'b': role 'x' is not known", 'this is a recipe of old']
    """
    columns: dict[str, list[str]] = {}
    for problem in problems:
        # A name is quoted as Python does: in double quotes where it holds a single one.
        about = re.fullmatch(r"column ('[^']*'|\"[^\"]*\"): (.*)", problem)
        columns.setdefault(about[2] if about else problem, []).extend([about[1]] if about else [])
    sentences = []
    for sentence, names in columns.items():
        where = ""
        if names:
            where = f"{inflect(len(names), 'column')} {', '.join(names)}: "
        sentences.append(where + sentence)
    return sentences


def _objects(
    problems: _Problems, document: Fields, section: str, build: Callable[[Any, str], Any]
) -> list[Any]:
    specs = document.get(section) or []
    if isinstance(specs, str) or not isinstance(specs, Sequence):
        problems.append(f"{section!r} must be a list, like '- k_anonymity: {{k: 5}}'")
        return []
    built = [problems.collect(build, spec, f"{section}[{i}]") for i, spec in enumerate(specs, 1)]
    return [m for m in built if m is not None]


def _agreement(spec: object, where: str, *, shape: Shape = Shape.TABLE) -> Agreement:
    """A line of the contract: ``means: {columns: [cost], at_most: 0.01, refuse: true}``."""
    if isinstance(spec, Mapping) and len(spec) == 1:
        name, fields = next(iter(spec.items()))
    else:
        name, fields = spec, None
    if not isinstance(fields, Mapping):
        raise RecipeError(
            f"{where}: expected a metric and its bound, like 'means: {{columns: [cost], at_most:"
            " 0.01}'"
        )
    bounds = {key: value for key, value in fields.items() if key in (*BOUNDS, "refuse")}
    options = {k: v for k, v in fields.items() if k not in bounds}
    plain = {name: options}
    metric = registry.build("utility", plain, where, shape=shape)
    try:
        return Agreement(metric, **bounds)
    except ParameterError as error:
        raise RecipeError(f"{where}: {error}") from None


def _agreement_dict(agreement: Agreement) -> Document:
    """The recipe form of a line of the contract."""
    (name, fields), *_ = registry.write(agreement.metric).items()
    bounds = {key: value for key in BOUNDS if (value := getattr(agreement, key)) is not None}
    return {name: {**fields, **bounds, **({"refuse": True} if agreement.refuse else {})}}


def _attribute(spec: object, where: str, base: Path) -> Attribute:
    """What a recipe says of one column: ``quasi``, or ``{role: quasi, hierarchy: …}``."""
    if isinstance(spec, str):
        spec = {"role": spec}
    if not isinstance(spec, Mapping) or "role" not in spec:
        raise RecipeError(f"{where} needs a role, like '{{role: quasi}}'")
    unknown = [str(key) for key in spec if key not in COLUMN_KEYS]
    if unknown:
        raise RecipeError(
            [f"{where}: {key!r} is not known.{did_you_mean(key, COLUMN_KEYS)}" for key in unknown]
        )
    if isinstance(spec["role"], str):
        roles: Any = [spec["role"]]
    else:
        roles = spec["role"]
    if not isinstance(roles, list | tuple):
        raise RecipeError(
            f"{where}: role must be a word or a list of words, like quasi or [quasi, sensitive]"
        )
    # Files that a hierarchy names are found from the folder of the recipe.
    hierarchy = spec.get("hierarchy")
    if hierarchy is not None:
        built = registry.build("hierarchies", hierarchy, f"{where}, hierarchy")
        hierarchy = built.resolved(base)
    order = spec.get("order")
    if order is not None:
        is_list = isinstance(order, list | tuple)
        # type() and not isinstance(): true is a whole number to Python.
        if not is_list or not all(isinstance(value, str) or type(value) is int for value in order):
            raise RecipeError(
                f"{where}: order must list the values from low to high; quote values that are not "
                "plain words"
            )
        order = tuple(str(value) for value in order)
    try:
        return Attribute(
            roles=tuple(roles),
            kind=spec.get("kind", Kind.NOMINAL),
            hierarchy=hierarchy,
            missing=spec.get("missing", Missing.CATEGORY),
            order=order,
            unit=spec.get("unit"),
            bounds=spec.get("bounds"),
            domain=spec.get("domain"),
            free_text=spec.get("free_text", False),
        )
    except (ParameterError, TypeError) as error:
        raise RecipeError(f"{where}: {error}") from None


def to_dict(recipe: Recipe, *, base: Path | None = None) -> Document:
    """A recipe as plain data, the inverse of :func:`any_from_dict` with the same base.

    Paths of hierarchy files are written relative to ``base``, by default the folder of the recipe.
    """
    start = recipe.base if base is None else base
    plain: Document = {"sfumato": VERSION}
    if recipe.shape != Recipe.shape:
        plain["shape"] = str(recipe.shape)
    if recipe.proposed_from is not None:
        plain["proposed_from"] = recipe.proposed_from
    if recipe.publication != Publication():
        plain["publish"] = recipe.publication.to_dict()
    plain |= recipe.intake.to_recipe()
    # Columns: those of one table, the people's own where they stand apart, or of several tables.
    if recipe.shape in SEVERAL_TABLES:
        plain["tables"] = {
            name: _table_dict(recipe, table, start, Link.of(name, table.schema))
            for name, table in recipe.tables.items()
        }
    else:
        plain["columns"] = _columns_dict(recipe, recipe.schema, start)
        if PEOPLE in recipe.others:
            plain[PEOPLE] = _table_dict(recipe, recipe.others[PEOPLE], start)
    plain["meet"] = []
    for model in recipe.meet:
        # The file of a population that a model names is found from where the recipe will be.
        located: Any = model
        path = model.population
        if path is not None and recipe.base != start and not Path(path).is_absolute():
            relative_path = os.path.relpath(recipe.base / path, start)
            located = dataclasses.replace(located, population=relative_path)
        plain["meet"].append(registry.write(located))
    plain["steps"] = [registry.write(step) for step in recipe.steps]
    if recipe.limits:
        plain["limits"] = written_limits(limits_of(recipe.limits))
    if recipe.contract:
        plain["contract"] = [_agreement_dict(agreement) for agreement in recipe.contract]
    if recipe.accept:
        plain["accept"] = write_acceptances(recipe.accept)
    return plain


def _table_dict(
    recipe: Recipe, description: TableDescription, base: Path, link: Link | None = None
) -> Document:
    if description.file is None or recipe.base == base:
        relative_file = description.file
    else:
        relative_file = os.path.relpath(recipe.base / description.file, base)
    file_entry = {} if relative_file is None else {"file": relative_file}
    if link is None:
        return {**file_entry, "columns": _columns_dict(recipe, description.schema, base)}
    own = {} if link.key is None else {"key": link.key}
    if link.parent is None:
        above = {}
    else:
        above = {"belongs_to": {link.parent: link.foreign}}
    rule = {} if link.orphans == "refuse" else {"orphans": link.orphans}
    columns = _columns_dict(recipe, description.schema.without(link.columns), base)
    return {**file_entry, **own, **above, **rule, "columns": columns}


def _columns_dict(recipe: Recipe, schema: Schema, base: Path) -> Document:
    """What a recipe says of every column; what it says by default is left out."""
    columns = {}
    for name, attribute in schema.attributes.items():
        roles = [str(role) for role in attribute.roles]
        spec: Document = {"role": roles[0] if len(roles) == 1 else roles}
        for field in dataclasses.fields(attribute):
            value = getattr(attribute, field.name)
            if field.name == "roles" or value == field.default:
                continue
            if field.name == "hierarchy":
                value = registry.write(value.relative(base))
            elif isinstance(value, tuple):
                value = list(value)
            elif isinstance(value, str):
                value = str(value)  # a member of an enumeration becomes its word
            spec[field.name] = value
        codes = recipe.intake.missing_in.get(name)
        if codes is not None:
            spec["missing_values"] = list(codes)
        columns[name] = spec
    return columns


def public_dict(recipe: Recipe) -> Document:
    """A recipe as a certificate shows it: what lists data values, or must not be known, is left
    out.

    Models, steps, metrics and hierarchies say in ``secret`` which of their fields that are; a
    hierarchy with one is left out whole. A ``domain`` stays: it is declared as public knowledge,
    without looking at the data.
    """
    plain = to_dict(recipe)
    table_dicts = plain.get("tables") or {DATA: plain, PEOPLE: plain.get(PEOPLE)}
    for table, schema in recipe.schemas.items():
        # How the owner's files are called is not published.
        table_dicts[table].pop("file", None)
        for name, spec in table_dicts[table]["columns"].items():
            hierarchy = schema[name].hierarchy
            if hierarchy is not None and hierarchy.secret:
                spec["hierarchy"] = {hierarchy.name: KEPT}
            # An order lists values of the data.
            if "order" in spec:
                spec["order"] = {"order": KEPT}
    metrics = [agreement.metric for agreement in recipe.contract]
    parts: list[tuple[Any, Document]] = [
        *zip(recipe.meet, plain["meet"], strict=True),
        *zip(recipe.steps, plain["steps"], strict=True),
        *zip(metrics, plain.get("contract", []), strict=True),
    ]
    for part, fields in parts:
        _keep_back(part, fields[part.name])
    for model, fields in zip(recipe.meet, plain["meet"], strict=True):
        # Where the file of a population lies is the owner's business, and told from another folder
        # in the lock.
        if model.population is not None:
            fields[model.name]["population"] = Path(model.population).name
    return plain


def _keep_back(part: Any, fields: Document) -> None:
    """Leave out, in place, what a part of a recipe must not show; the promises that a placed step
    aims at, too.
    """
    fields |= {name: KEPT for name in part.secret if name in fields}
    if isinstance(part, PlacedStep) and part.aim:
        for model, model_fields in zip(part.aim, fields["aim"], strict=True):
            _keep_back(model, model_fields[model.name])


def keeps_back(family: str, spec: object, shape: Shape = Shape.TABLE) -> bool:
    """Whether a model or hierarchy, as a certificate shows it, lacks what its owner keeps.

    A hierarchy that is kept back is never made from a certificate, whatever stands there: it could
    name a file.

    >>> keeps_back(
    ...     "models",
    ...     {"alpha_k_anonymity": {"sensitive": "illness", "alpha": 0.5, "k": 2, "values": KEPT}},
    ... )
    True
    >>> (
    ...     keeps_back("hierarchies", {"tree": KEPT}),
    ...     keeps_back("hierarchies", {"intervals": {"widths": [5]}}),
    ... )
    (True, False)
    """
    if isinstance(spec, Mapping) and spec:
        name, fields = next(iter(spec.items()))
    else:
        name, fields = spec, {}
    cls = registry.method_class(family, str(name), fields, shape)
    if cls is None:
        secret: tuple[str, ...] = ()
    else:
        secret = cls.secret
    if family == "hierarchies":
        return bool(secret)
    return isinstance(fields, Mapping) and any(fields.get(field) == KEPT for field in secret)


def dump(recipe: Recipe) -> str:
    """A recipe as YAML text."""
    return write_yaml(to_dict(recipe))
