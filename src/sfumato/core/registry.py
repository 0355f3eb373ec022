"""Name → class of every family, ours and those of plug-ins: the only module that sees them all."""

from __future__ import annotations

import csv
import dataclasses
import importlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sfumato.core.attack import Attack
from sfumato.core.choices import is_number, required_fields, trivial, variants, weakest
from sfumato.core.data import Data
from sfumato.core.fields import Document, Fields
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.limits import Limit, limits_of
from sfumato.core.metric import Risk, Utility
from sfumato.core.model import Model
from sfumato.core.parameters import Members, known_as, spelled, values_of
from sfumato.core.placed import KEYS as PLACING_KEYS
from sfumato.core.placed import PLACED, Placed, PlacedModel
from sfumato.core.plug_ins import (
    announced,
    describe_plug_in,
    forget_entry_points,
    load_plug_in,
    points_by_name,
    refuse_name,
)
from sfumato.core.shape import ONE_TABLE, SEVERAL_TABLES, Shape, known_shapes, of_shape
from sfumato.core.step import Step
from sfumato.core.words import first_sentence, join_words
from sfumato.core.yaml_text import read_yaml
from sfumato.errors import ParameterError, RecipeError, did_you_mean, import_part

EXAMPLES = {
    "hierarchies": "intervals: {widths: [5, 10]}",
    "steps": "global_recoding: {budget: 0.02}",
    "utility": "c_avg: {k: 5}",
}
PLACED_EXAMPLES = {
    "models": "k_anonymity: {k: 5, table: visits}",
    "steps": "global_recoding: {budget: 0.02, table: visits}",
    "utility": "means: {columns: [cost], table: visits}",
}
FAMILIES = ("models", "steps", "hierarchies", "risk", "utility")
PACKAGES = {
    "models": ("sfumato.methods.models",),
    "steps": ("sfumato.methods.steps",),
    "hierarchies": ("sfumato.methods.hierarchies",),
    "risk": ("sfumato.methods.attacks.file_risks", "sfumato.methods.attacks"),
    "utility": ("sfumato.methods.utility",),
}
"""Where the members of each family are: risks of a file and attacks on a release are one family in
recipes.
"""
KINDS: dict[str, tuple[type, ...]] = {
    "models": (Model,),
    "steps": (Step,),
    "hierarchies": (Hierarchy,),
    "risk": (Risk, Attack),
    "utility": (Utility,),
}
"""What a plug-in of a family inherits from, so that it has all that may be asked of a member."""
METHODS = {
    "models": ("needs", "failing", "judge"),
    "steps": ("plan", "apply"),
    "hierarchies": ("paths",),
}
"""What it must say itself; risks, attacks and utilities cannot be made without."""
MEASURED = tuple(name for name in ("risk", "utility") if name in FAMILIES)
"""The families whose members a recipe can set limits for."""


SHAPES = {
    "baskets": "sfumato.data.baskets",
    "paths": "sfumato.data.paths",
    "graph": "sfumato.data.graphs",
    "tables": "sfumato.data.relational",
}
"""The package of each shape of data that is not one table; it holds ``FAMILIES`` by name, and
``noun()`` gives the class of its data. Other packages add shapes: entry points ``sfumato.shapes``.
"""


@dataclasses.dataclass(frozen=True)
class AskedModel:
    """A model as it was asked for, and the fields that were left open: then what is attained
    counts, not a verdict.
    """

    text: str
    model: Any
    left_open: tuple[str, ...]


@cache
def family(name: str, shape: Shape = Shape.TABLE) -> Members:
    """The classes of one family by the name they have in a recipe; ours are imported one by one, as
    they are asked for.

    ``shape`` is that of the data they serve; hierarchies are the same for all.

    >>> "km_anonymity" in family("models"), "km_anonymity" in family("models", Shape.BASKETS)
    (False, True)
    """
    if name not in FAMILIES:
        raise ParameterError(f"{name!r} is not a family of methods.{did_you_mean(name, FAMILIES)}")
    if shape not in ONE_TABLE and name != "hierarchies":
        members: Members = _package_of(shape).FAMILIES[name]
        return members
    own_members: list[Members] = [
        importlib.import_module(package).ALL for package in PACKAGES[name]
    ]
    # What other packages add, in order of their names. Refused, with the package and what to do, is
    # one that cannot be loaded, that is nothing of this family, or that takes a name that is taken:
    # a check that silently did not take place would look like one that was passed.
    added: dict[str, type] = {}
    for point in announced(name):
        cls = load_plug_in(point, _singular(name), lambda plug_in: _belongs(plug_in, name))
        if any(cls.name in members for members in own_members):
            raise refuse_name(point, cls.name, "sfumato itself")
        if cls.name in added:
            raise refuse_name(point, cls.name, added[cls.name].__module__)
        added[cls.name] = cls
    return Members.joined(own_members, added)


def data_class(shape: Shape) -> type[Data]:
    """The class of data of a shape."""
    if shape in ONE_TABLE:
        table: type[Data] = importlib.import_module("sfumato.core.table").Table
        return table
    noun: type[Data] = _package_of(shape).noun()
    return noun


def _package_of(shape: Shape) -> Any:
    """The package of a shape that is not one table: one of ours, or what another package
    announces.
    """
    if shape in SHAPES:
        return import_part(SHAPES[shape])
    point = points_by_name("shapes", SHAPES.__contains__)[shape]
    package = load_plug_in(point, "shape of data", _is_package_of_shape)
    if package.noun().shape != shape:
        problem = f"{describe_plug_in(point)} is announced for {str(shape)!r}"
        data_words = f"its data have shape {str(package.noun().shape)!r}"
        raise ParameterError(
            f"{problem} and {data_words}; give both the same name, or uninstall it"
        )
    return package


def _is_package_of_shape(package: Any) -> bool:
    """Whether something has the methods of a shape by family, and the class of its data."""
    families = getattr(package, "FAMILIES", None)
    if not isinstance(families, Mapping) or not callable(getattr(package, "noun", None)):
        return False
    # Hierarchies are the same for all shapes: no package has to bring its own.
    own = set(FAMILIES) - {"hierarchies"}
    has_families = own <= set(families) and all(isinstance(families[n], Members) for n in own)
    return has_families and isinstance(package.noun(), type) and Data in package.noun().__mro__


TABLE_RUN, LAZY_RUN = "sfumato.data.table.run", "sfumato.data.lazy.run"
"""Where the functions are by which a release is made of a table in memory, and of one that an
engine holds.
"""


def function_of_run(name: str, *, lazy: bool = False) -> Any:
    """A function by which a release is made of a table."""
    return getattr(importlib.import_module(LAZY_RUN if lazy else TABLE_RUN), name)


def installed_shapes() -> tuple[Shape, ...]:
    """The shapes of data whose packages are there: an installation may leave out all but tables."""
    shapes = []
    for shape in known_shapes():
        package = SHAPES.get(shape)
        # What is imported is there; any other is only looked for, not imported.
        is_there = package is None or package in sys.modules
        if is_there or importlib.util.find_spec(str(package)) is not None:
            shapes.append(shape)
    return tuple(shapes)


def serves(family_name: str, name: str) -> tuple[Shape, ...]:
    """The shapes of data that something of this name serves, in any of our rooms.

    >>> serves("models", "km_anonymity")
    (<Shape.BASKETS: 'baskets'>, <Shape.PATHS: 'paths'>)
    """
    return tuple(shape for shape in installed_shapes() if name in family(family_name, shape))


def forget_plug_ins() -> None:
    """Look for plug-ins again when a family is asked for next: packages may have come or gone."""
    forget_entry_points()
    family.cache_clear()


def _belongs(cls: object, family_name: str) -> bool:
    """Whether something is a class with parameters and a name that inherits what members have, and
    says what they must.
    """
    if (
        not isinstance(cls, type)
        or not dataclasses.is_dataclass(cls)
        or not isinstance(getattr(cls, "name", None), str)
    ):
        return False
    # By what the class inherits: to ask a protocol would compare members one by one.
    kind = next((kind for kind in KINDS[family_name] if kind in cls.__mro__), None)
    # A method that is still the inherited one was not written by the plug-in.
    return kind is not None and all(
        getattr(cls, m) is not getattr(kind, m) for m in METHODS.get(family_name, ())
    )


def attacks(shape: Shape = Shape.TABLE) -> Members:
    """The attacks of the risk family, by name: everything there that can be carried out in a scene.

    Only tables have risks besides, which the file shows as it is.
    """
    if shape not in ONE_TABLE:
        return family("risk", shape)
    return _half("sfumato.methods.attacks", Attack)


def asked_attack(spec: object, shape: Shape = Shape.TABLE) -> Attack:
    """An attack by its name, with parameters as in a recipe (``{"suda": {"most": 3}}``, or the same
    as text), or as it is.

    >>> asked_attack({"interval-disclosure": {"kind": "deviation"}}).kind
    'deviation'
    >>> asked_attack("suda: {most: 3}").most
    3
    """
    if isinstance(spec, Attack):
        return spec
    if isinstance(spec, str) and ":" in spec:
        spec = read_yaml(spec, "an attack")
    known_attacks = attacks(shape)
    if isinstance(spec, Mapping) and len(spec) == 1:
        name = next(iter(spec))
    else:
        name = spec
    if not isinstance(name, str):
        raise ParameterError(
            "an attack is a name, with parameters if it takes any: 'suda: {most: 3}'"
        )
    if known_as(name) not in known_attacks:
        raise ParameterError(
            f"attack {name!r} does not "
            f"exist{_for_shape('risk', known_as(name), shape, known_attacks)}"
        )
    attack: Attack = build("risk", spec, shape=shape)
    return attack


def asked_metric(spec: Any, shape: Shape = Shape.TABLE) -> Utility:
    """A utility metric by its name or as in a recipe (``{"c_avg": {"k": 5}}``), or as it is."""
    if not isinstance(spec, str | Mapping):
        metric: Utility = spec
        return metric
    known_metrics = family("utility", shape)
    spelling = spec if isinstance(spec, str) else next(iter(spec), "")
    name = known_as(str(spelling))
    if isinstance(spec, str):
        fields = None
    else:
        fields = next(iter(spec.values()), None)
    if (
        shape not in ONE_TABLE
        and name not in known_metrics
        and not is_placed("utility", name, fields, shape)
    ):
        raise ParameterError(
            f"metric {name!r} does not exist{_for_shape('utility', name, shape, known_metrics)}"
        )
    built: Utility = build("utility", spec, shape=shape)
    return built


def _for_shape(family_name: str, name: str, shape: Shape, members: Members) -> str:
    """What a message adds about a name that data of a shape do not know."""
    if shape in ONE_TABLE:
        return f".{did_you_mean(name, members)}"
    shapes = serves(family_name, name)
    if shapes:
        also = f"; it serves {of_shape(shapes)}"
    else:
        also = f".{did_you_mean(name, members)}"
    return f" for data of shape {shape}{also}"


def risks(shape: Shape = Shape.TABLE) -> Members:
    """The risks of a file as it is, by name; of data of other shapes nothing is told without
    attacks.
    """
    if shape not in ONE_TABLE:
        return Members.joined([], {})
    return _half("sfumato.methods.attacks.file_risks", Risk)


def _half(package: str, kind: type) -> Members:
    """The members of one package of the risk family, and the plug-ins of that kind; the other
    package is not imported.
    """
    plug_ins = {
        name: cls for name, cls in family("risk").loaded_classes.items() if issubclass(cls, kind)
    }
    return Members.joined([importlib.import_module(package).ALL], plug_ins)


def find_class(family_name: str, name: str, shape: Shape | None = None) -> Any:
    """The class of a name in a family, for data of a shape or else of any, tables first; None:
    nobody is called so.

    >>> find_class("models", "k_anonymity").__name__, find_class("models", "nobody")
    ('KAnonymity', None)
    """
    # Nearly everything that is asked for serves tables: other shapes need not be looked through.
    if (shape is None or shape in ONE_TABLE) and name in family(family_name):
        return family(family_name)[name]
    shapes = serves(family_name, name)
    serving_shape = shape if shape in shapes else next(iter(shapes), None)
    if serving_shape is None:
        return None
    return family(family_name, serving_shape)[name]


def utility_metrics() -> Members:
    """The utility metrics by name."""
    return family("utility")


def is_placed(family_name: str, name: str, fields: object, shape: Shape) -> bool:
    """Whether a method, as a recipe or a plan writes it, is one of ordinary tables with its table.

    So it is when the data are several tables and ``table`` stands among the fields. A class of the
    shape itself that has a field ``table`` (``cap_rows``) keeps it; every other name with ``table``
    means the method of ordinary tables, even where the shape has one of the same name
    (``shift_dates``).

    >>> is_placed("models", "k_anonymity", {"k": 5, "table": "visits"}, Shape.TABLES)
    True
    >>> is_placed("steps", "cap_rows", {"at_most": 3, "table": "visits"}, Shape.TABLES)
    False
    """
    if shape not in SEVERAL_TABLES or family_name not in PLACED:
        return False
    if not isinstance(fields, Mapping) or "table" not in fields:
        return False
    # `cap_rows: {table: visits}` is the shape's own step, whose field is called so.
    own = family(family_name, shape)
    if name in own and "table" in spelled(own[name]).values():
        return False
    return name in family(family_name)


def method_class(family_name: str, name: str, fields: object, shape: Shape) -> Any:
    """The class that a name means beside these fields, for data of a shape; None: there is none."""
    if shape in SEVERAL_TABLES and is_placed(family_name, name, fields, shape):
        shape = Shape.TABLE
    return family(family_name, shape).get(name)


def build(family_name: str, spec: object, where: str = "", *, shape: Shape = Shape.TABLE) -> Any:
    """Make an object from its recipe form: ``suppress``, ``{k_anonymity: 5}`` or
    ``{k_anonymity: {k: 5}}``.

    ``shape`` is that of the data; what serves data of another shape only is refused by name. A
    method of ordinary tables is one for several tables when the recipe says which of them it is
    about (:func:`is_placed`).

    >>> build("models", {"k_anonymity": {"k": 5}})
    KAnonymity(k=5)
    >>> build("models", {"k_anonymity": {"k": 5, "table": "visits"}}, shape=Shape.TABLES)
    PlacedModel(method=KAnonymity(k=5), table='visits')
    """
    prefix = f"{where}: " if where else ""
    entry: tuple[Any, Any] = (spec, None)
    if isinstance(spec, Mapping) and len(spec) == 1:
        entry = next(iter(spec.items()))
    if not isinstance(entry[0], str):
        example = EXAMPLES.get(family_name, "k_anonymity: {k: 5}")
        raise RecipeError(f"{prefix}expected one name with its parameters, like '{example}'")
    name, arguments = known_as(entry[0]), entry[1]
    if shape in SEVERAL_TABLES and is_placed(family_name, name, arguments, shape):
        return _build_placed(family_name, name, arguments, where)
    members = family(family_name, shape)
    if name not in members:
        raise RecipeError(f"{prefix}{unknown_name(family_name, name, shape)}")
    try:
        if arguments is None:
            return members[name]()
        if isinstance(arguments, Mapping):
            return members[name](**arguments)
        return members[name](arguments)
    except TypeError as error:
        raise RecipeError(f"{prefix}{name}: {_error_words(error)}") from None
    except ParameterError as error:
        # The message begins with the name of a class, which who writes recipes does not know.
        raise RecipeError(f"{prefix}{name}: {str(error).split(': ', 1)[-1]}") from None


def _build_placed(family_name: str, name: str, arguments: Fields, where: str) -> Placed:
    """A method of ordinary tables and where it applies; keys that say so are no fields of the
    method.
    """
    prefix = f"{where}: " if where else ""
    keys = PLACING_KEYS[family_name]
    placing = {key: value for key, value in arguments.items() if key in keys}
    fields = {key: value for key, value in arguments.items() if key not in keys}
    method = build(family_name, {name: fields}, where)
    if "aim" in placing:
        if not isinstance(placing["aim"], list | tuple):
            raise RecipeError(
                f"{prefix}{name}: aim lists promises of ordinary tables, like [{{k_anonymity: {{k:"
                " 5}}]"
            )
        models = []
        for model in placing["aim"]:
            models.append(build("models", model, f"{prefix}{name}, aim"))
        placing["aim"] = tuple(models)
    try:
        return PLACED[family_name](method, **placing)
    except ParameterError as error:
        raise RecipeError(f"{prefix}{error}") from None


def unknown_name(family_name: str, name: str, shape: Shape) -> str:
    """Why a name means nothing for data of a shape, in words.

    >>> unknown_name("models", "k_anonymity", Shape.TABLES)
    "'k_anonymity' is about one table, and the data have several; say which: 'k_anonymity: {…,
    table: NAME}'"
    """
    if shape in SEVERAL_TABLES and family_name in PLACED:
        if name == "in_table":
            example = PLACED_EXAMPLES[family_name]
            return (
                "'in_table' is not known; write the method itself with its table beside its"
                f" fields, like '{example}'"
            )
        if name in family(family_name):
            return (
                f"{name!r} is about one table, and the data have several; say which: '{name}: {{…, "
                "table: NAME}'"
            )
    members = family(family_name, shape)
    problem = f"{name!r} is not a known {_singular(family_name)}"
    shapes = serves(family_name, name)
    if not shapes:
        return f"{problem}.{did_you_mean(name, members)}"
    if shape not in ONE_TABLE:
        hint = ""
    else:
        hint = f" (say 'shape: {shapes[0]}' for such data)"
    return f"{problem} for shape: {shape}; it serves {of_shape(shapes)}{hint}"


def ask(text: str, shape: Shape = Shape.TABLE) -> AskedModel:
    """Read ``name:argument,…,field=value,…``; positional arguments fill the fields in order.

    Degrees that are not given are as weak as they can be, so that judging the model tells what a
    table attains. An argument that holds a comma stands in double quotes. Of several tables,
    ``table=NAME`` says which one is meant.

    >>> ask("l_diversity:illness,kind=entropy")
    AskedModel(text='l_diversity:illness,kind=entropy', model=LDiversity(sensitive='illness', l=1,
    kind='entropy', c=None), left_open=('l',))
    >>> ask("k_anonymity:5").left_open
    ()
    >>> ask("k_anonymity:5,table=visits", Shape.TABLES).model
    PlacedModel(method=KAnonymity(k=5), table='visits')
    """
    given_name, _, argument_text = text.partition(":")
    name = known_as(given_name.strip())
    if argument_text:
        parts = next(csv.reader([argument_text], skipinitialspace=True), [])
    else:
        parts = []
    assignments = [part.partition("=") for part in parts]
    tables = []
    for key, equals, value in assignments:
        if equals and key.strip() == "table":
            tables.append(value.strip())
    if tables and is_placed("models", name, {"table": tables[0]}, shape):
        if len(tables) > 1:
            raise ParameterError(f"{text}: table is given twice; keep one")
        other_parts = [
            part
            for part, (key, _, _) in zip(parts, assignments, strict=True)
            if key.strip() != "table"
        ]
        model, left_open = _asked_model(text, family("models")[name], other_parts)
        return AskedModel(text, PlacedModel(model, tables[0]), left_open)
    models = family("models", shape)
    if name not in models:
        raise ParameterError(unknown_name("models", name, shape))
    return AskedModel(text, *_asked_model(text, models[name], parts))


def _asked_model(text: str, cls: Any, parts: Sequence[str]) -> tuple[Any, tuple[str, ...]]:
    """A model of the parameters of a short form, and the fields that were left open."""
    arguments = _arguments(text, cls, parts)
    # Degrees may be left open in models that judge classes; every other field must be said.
    required = [f for f in required_fields(cls) if not (_judges_classes(cls) and is_number(cls, f))]
    missing_fields = []
    for word in map(spelled(cls).__getitem__, required):
        if word not in arguments:
            missing_fields.append(word)
    if missing_fields:
        form = ",".join(f"{field}={field.upper()}" for field in missing_fields)
        raise ParameterError(
            f"{text}: {join_words(missing_fields)} must be given, like {cls.name}:{form}"
        )
    try:
        return weakest(cls, arguments)
    except ParameterError as error:
        raise ParameterError(f"{text}: {str(error).split(': ', 1)[-1]}") from None


def _judges_classes(cls: Any) -> bool:
    """Whether a model judges the classes of a table: then it can be asked how far it holds."""
    return cls.failing is not Model.failing


def _arguments(text: str, cls: type, parts: Sequence[str]) -> dict[str, str]:
    """The arguments of a short form by the field they fill."""
    names = list(spelled(cls).values())
    arguments: dict[str, str] = {}
    for position, part in enumerate(parts):
        key, equals, value = part.partition("=")
        # An equals sign behind anything but a name belongs to the value.
        if not equals or not key.strip().isidentifier():
            key, value = names[position] if position < len(names) else "", part
        key = key.strip()
        if key not in names:
            if key:
                problem = f"has no parameter {key!r}.{did_you_mean(key, names)}"
            else:
                problem = f"has {len(names)} parameters"
            raise ParameterError(f"{text}: {cls.name} {problem}")  # type: ignore[attr-defined]
        if key in arguments:
            raise ParameterError(f"{text}: {key} is given twice; keep one")
        arguments[key] = value.strip()
    return arguments


def write(value: Any) -> Document:
    """The recipe form of an object.

    >>> write(build("models", {"k_anonymity": 5}))
    {'k_anonymity': {'k': 5}}
    """
    if isinstance(value, Placed):
        fields = value.fields()
    else:
        fields = values_of(value)
    return {value.name: fields}


def limit_problems(limits: Mapping[Any, Any], shape: Shape = Shape.TABLE) -> list[str]:
    """What is wrong with limits: names nobody measures, no numbers, or parameters that what is
    limited does not take.
    """
    if not limits:
        return []
    # nothing is imported
    names = [name for measured_family in MEASURED for name in family(measured_family, shape)]
    if shape in SEVERAL_TABLES:
        names += [
            name
            for measured_family in MEASURED
            if measured_family in PLACED
            for name in family(measured_family)
        ]
    problems = []
    for name, spec in limits.items():
        if name not in names:
            problems.append(
                "limits: no risk, attack or utility is called "
                f"{str(name)!r}.{did_you_mean(str(name), names)}"
            )
            continue
        try:
            bounds = limits_of({name: spec})
            if any(_measured_family(limit, shape) is None for limit in bounds):
                problems.append(f"limits: {unknown_name('utility', name, shape)}")
            # A single plain number has no parameters that could be wrong.
            elif len(bounds) > 1 or bounds[0].way is not None:
                _require_limits(bounds, shape)
        except (ParameterError, RecipeError) as error:
            problems.append(str(error))
    return problems


def _require_limits(limits: Sequence[Limit], shape: Shape) -> None:
    """Refuse limits of one name whose parameters or bounds make no sense, or that say the same
    twice.
    """
    metrics: list[Any] = []
    for limit in limits:
        metric = build_measured(limit, shape)
        way = "at_least" if metric.better == "higher" else "at_most"
        if limit.way not in (None, way):
            raise ParameterError(f"limits: {limit.name} is limited by {way}, not by {limit.way}")
        # the certificate says what was limited
        if any(field in limit.parameters for field in metric.secret):
            raise ParameterError(
                f"limits: {limit.label.split(':')[0]} with parameters of its own belongs "
                "in the section contract"
            )
        if limit.parameters and isinstance(metric, Attack) and metric.remembers:
            raise ParameterError(
                f"limits: {limit.name} is computed from a register and takes no parameters; give a "
                "number"
            )
        if metric in metrics:
            raise ParameterError(f"limits: {limit.label} is limited twice; leave one out")
        metrics.append(metric)


def build_measured(limit: Limit, shape: Shape = Shape.TABLE) -> Any:
    """The risk, attack or utility that a limit is about, with its parameters.

    >>> build_measured(Limit("interval_disclosure", 0.2, {"kind": "deviation"}, "at_most")).kind
    'deviation'
    """
    home = _measured_family(limit, shape)
    if home is None:
        raise ParameterError(f"limits: {unknown_name('utility', limit.name, shape)}")
    return build(home, limit.spec, "limits", shape=shape)


def _measured_family(limit: Limit, shape: Shape) -> str | None:
    """The family of what a limit is about; None: data of the shape have no such thing."""
    for name in MEASURED:
        if limit.name in family(name, shape) or is_placed(
            name, limit.name, limit.parameters, shape
        ):
            return name
    return None


def describe(cls: type) -> Document:
    """What a class is for and what its fields mean, for ``list`` and ``explain``."""
    fields = []
    for field in dataclasses.fields(cls):
        required = (
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        )
        field_description = {
            "name": spelled(cls)[field.name],
            "meaning": _meaning(cls, field.name),
            "required": required,
        }
        fields.append(field_description)
    doc = (cls.__doc__ or "").strip()
    plain = {
        "name": cls.name,  # type: ignore[attr-defined]
        "class": cls.__name__,
        "meaning": first_sentence(doc),
        "doc": doc,
        "fields": fields,
    }
    if Step in cls.__mro__:
        # Which kind of search each algorithm of a step is.
        kinds: Fields = cls.search_kinds  # type: ignore[attr-defined]
        if kinds:
            return {**plain, "search": {name: kind.words for name, kind in kinds.items()}}
    if Model not in cls.__mro__:
        return plain
    if _judges_classes(cls):
        return {**plain, **_nature(cls)}
    facts = dataclasses.asdict(cls.facts)  # type: ignore[attr-defined]
    return {**plain, "facts": facts, "compares": cls.compares}  # type: ignore[attr-defined]


def _nature(cls: Any) -> Document:
    """What kind of promise a model makes; ``depends`` says what changes with its parameters, and
    how.
    """
    usual = variants(cls)[0]
    traits = ("monotone", "shrinking", "scope")
    # A trait that is a property depends on parameters, and its docstring says how.
    depends = {t: getattr(cls, t).__doc__ for t in traits if isinstance(getattr(cls, t), property)}
    return {
        "facts": dataclasses.asdict(cls.facts),
        **{trait: getattr(usual, trait) for trait in traits},
        **({"depends": depends} if depends else {}),
    }


def implied_by(name: str) -> tuple[str, ...]:
    """Names of the models of which some promise follows from a strong enough promise of this one.

    >>> implied_by("k_map")
    ('k_map',)
    >>> "k_anonymity" in implied_by("l_diversity")
    True
    """
    stronger = variants(family("models")[name])
    implied_names = []
    for other_name, cls in family("models").items():
        weaker_models = [weaker for weaker in variants(cls) if not trivial(weaker)]
        if any(instance.implies(weaker) for weaker in weaker_models for instance in stronger):
            implied_names.append(other_name)
    return tuple(implied_names)


def _meaning(cls: object, name: str) -> str:
    if hasattr(cls, "__pydantic_fields__"):
        description = cls.__pydantic_fields__[name].description
    else:
        description = None
    return description or ""


def _singular(name: str) -> str:
    return {"hierarchies": "hierarchy", "risk": "risk", "utility": "utility metric"}.get(
        name, name.rstrip("s")
    )


def _error_words(error: TypeError) -> str:
    return (
        str(error)
        .replace("__init__() ", "")
        .replace("got an unexpected keyword argument", "has no parameter")
    )
