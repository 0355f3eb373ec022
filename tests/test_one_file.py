"""One file and one entry: a package that is not ours adds one of everything, and everything works
on it.

The package is written into an empty folder and announced by entry points, as an installed one would
be. Not a line of ours names anything in it.
"""

from __future__ import annotations

import ast
import importlib.metadata
import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core import plug_ins, recipe_files, registry
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.core.shape import Shape, known_shapes
from sfumato.core.step import Goal
from sfumato.data.lazy.table import ENGINES
from sfumato.data.table import formats
from sfumato.data.table.write import write_table
from sfumato.errors import ParameterError, RecipeError
from sfumato.interfaces.cli import main
from sfumato.interfaces.cli.app import build_app
from sfumato.interfaces.web.forms import form_of, read_form
from sfumato.interfaces.web.pages.stages import STAGES, all_stages
from sfumato.policy import dialects
from sfumato.policy.dialects.dialect_detection import parse_policy, write_policy
from sfumato.policy.documents import PolicyError
from sfumato.policy.lint import lint_text
from sfumato.policy.policy import Policy
from sfumato.release.attack_run import attack_release
from sfumato.release.intruders import BATTERY
from sfumato.release.report.measures import plain_words, title_of
from tests.methods.hierarchies.contract import keeps_the_contract
from tests.methods.models import test_contract as model_contract
from tests.methods.steps import masking_contract
from tests.methods.utility import test_utility_contract as utility_contract

MODEL = '''
"""Crowds, as a package of somebody else promises them."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.model import Facts, Model, Needs, Verdict
from sfumato.core.parameters import parameters
from sfumato.errors import SchemaError


@parameters
class CrowdOf(Model):
    r"""Every class holds at least n records.

    .. math:: \\min_E |E| \\ge n

    Reference: none, it is an example.
    """

    n: Annotated[int, Field(ge=1, description="records in the smallest class")]

    name: ClassVar[str] = "crowd_of"
    facts: ClassVar[Facts] = Facts(against="identity")
    monotone: ClassVar[bool] = True
    shrinking: ClassVar[bool] = True
    scope: ClassVar[str] = "class"

    @property
    def promise(self):
        return f"a crowd of {self.n}"

    def needs(self, schema):
        if not schema.quasi:
            raise SchemaError("a crowd needs a quasi-identifier")
        return Needs()

    def failing(self, evidence):
        return evidence.frequencies < self.n

    def judge(self, evidence):
        sizes, failing = evidence.frequencies, np.flatnonzero(self.failing(evidence))
        records = int(evidence.classes.records[failing].sum())
        attained = int(sizes.min()) if len(sizes) else None
        told = "the table is empty" if attained is None else f"the smallest crowd has {attained}"
        return Verdict(
            self.name, self.promise, not len(failing), attained, self.n, told, sizes, failing, sizes[failing], records
        )

    def implies(self, other):
        return isinstance(other, CrowdOf) and self.n >= other.n
'''
STEP = '''
"""A step of one file."""

from typing import Annotated, ClassVar

from pydantic import Field

from sfumato.core.parameters import parameters
from sfumato.core.step import Masked, Step


@parameters
class CutOff(Step):
    """Numbers lose what is below a base."""

    column: Annotated[str, Field(description="the column that is cut")]
    base: Annotated[int, Field(ge=1, description="what values become multiples of")] = 10

    name: ClassVar[str] = "cut_off"

    def plan(self, dataset, goal):
        dataset.require([self.column])
        values = dataset.to_polars()[self.column]
        return Masked(actions={self.column: "cut off"}, columns={self.column: values // self.base * self.base})

    def apply(self, dataset, plan):
        return plan.applied(dataset)
'''
METRIC = '''
"""A metric of one file."""

from typing import ClassVar

from sfumato.core.metric import Measure, Utility
from sfumato.core.parameters import parameters
from sfumato.errors import SchemaError


@parameters
class RowsLost(Utility):
    """Share of records that did not come through.

    >>> RowsLost().better
    'lower'
    """

    name: ClassVar[str] = "rows_lost"

    def applies(self, pair):
        return None if len(pair.original) else "the original table has no rows"

    def measure(self, pair):
        if (reason := self.applies(pair)) is not None:
            raise SchemaError(f"{self.name} cannot be measured: {reason}")
        return Measure(self.name, 1 - len(pair.released) / len(pair.original), self.better, "share of records lost")
'''
ATTACK = '''
"""An attack of one file."""

from typing import ClassVar

from sfumato.core.attack import Attack, Finding
from sfumato.core.parameters import parameters


@parameters
class LuckyGuess(Attack):
    """Somebody points at a record with closed eyes."""

    name: ClassVar[str] = "lucky_guess"

    def attack(self, scene):
        share = 1 / len(scene.pair.released)
        return Finding(self.name, share, "one record is as good as the other", baseline=share)
'''
HIERARCHY = '''
"""A hierarchy of one file."""

from typing import ClassVar

from sfumato.core.hierarchy import TOP, Hierarchy, Paths
from sfumato.core.parameters import parameters


@parameters
class FirstLetter(Hierarchy):
    """A value, its first letter, the top."""

    name: ClassVar[str] = "first_letter"

    def paths(self, values, counts):
        rows = [(value, value[:1].upper() + "…", TOP) for value in values]
        return Paths.from_leaf_rows(rows, rows)
'''
COMMAND = '''
"""A command of one file."""

from typing import Annotated

import typer


def greet(name: Annotated[str, typer.Argument(help="who is greeted")]) -> None:
    """Greet somebody."""
    typer.echo(f"Good day, {name}")
'''
LANGUAGE = '''
"""A policy language of one file: a policy is a line with its name."""

from sfumato.policy.dialects import Dialect
from sfumato.policy.documents import Document
from sfumato.policy.policy import Policy


class Names(Dialect):
    """Policies that are a name and nothing else."""

    name = "names"
    title = "NAMES"
    writable = True
    openings = ("name ",)

    def document(self, text, name, findings):
        return Document({"name": text.strip().removeprefix("name ")}, name, text, {"$": 1})

    def policy(self, document, findings):
        return Policy(document.tree["name"])

    def text(self, policy):
        return f"name {policy.name}\\n"
'''
FILE_FORMAT = '''
"""A file format of one file: fields between bars, after a line that says so."""

import io

import polars as pl

from sfumato.core.source import Source
from sfumato.data.table.formats import FileFormat, refusing

MARK = b"BARS\\n"


class Bars(FileFormat):
    """Text with bars."""

    name = "bars"
    suffixes = (".bars",)
    openings = (MARK,)

    def read(self, data, name, request):
        with refusing(f"{name} cannot be read as bars"):
            frame = pl.read_csv(io.BytesIO(data.removeprefix(MARK)), separator="|")
        return frame, Source(name, self.name)

    def write(self, frame, target, source, form):
        target.write_bytes(MARK + frame.write_csv(separator="|").encode())
'''
ENGINE = '''
"""An engine of one file, which lets polars do the work behind a frame of its own."""

import narwhals as nw
import polars as pl

from sfumato.data.lazy import on_polars
from sfumato.data.lazy.table import EngineFrame

name = "turtle"
RESUMES = True
workers = None


class Shell(EngineFrame):
    """Rows that the turtle carries."""

    engine_name = name

    def __init__(self, rows):
        self.rows = nw.from_native(rows)

    def collect_schema(self):
        return self.rows.collect_schema()


def opened(parts, memory):
    return Shell(pl.scan_parquet(list(parts)))


def columns_of(frame):
    return on_polars.columns_of(frame.rows)


def rows_of(frame):
    return on_polars.rows_of(frame.rows)


def counted(frame, columns, most, tick):
    return on_polars.counted(frame.rows, columns, most, tick)


def batches(frame, columns, tick):
    return on_polars.batches(frame.rows, columns, tick)


def scanned(parts, like):
    return on_polars.scanned(parts, like)
'''
STAGE = '''
"""A stage of one file."""

from sfumato.interfaces.web.pages.parts import text
from sfumato.interfaces.web.pages.stages import Stage

STAGE = Stage("Notes", "/notes", "their_package.stage")


def draw(page):
    """Notes about the table."""
    text("Notes of somebody else", "p")
'''
SHAPE = '''
"""A shape of one file: everybody has a set of letters, in rows of a person and a letter."""

import dataclasses
from collections import Counter
from typing import Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from sfumato.core.data import PeopleData
from sfumato.core.model import Facts, Model, make_verdict
from sfumato.core.parameters import Members, parameters
from sfumato.core.schema import Role, Schema
from sfumato.core.shape import Shape
from sfumato.core.source import Source
from sfumato.core.step import Plan, Step

LETTERS = Shape("letters")


@dataclasses.dataclass(frozen=True, eq=False)
class Letters(PeopleData):
    """People by their letters."""

    shape: ClassVar[Shape] = LETTERS

    sets: tuple[frozenset[str], ...]
    schema: Schema
    source: Source
    beside: Schema | None = None
    origin: Any = None

    @classmethod
    def from_tables(cls, tables, schemas, source):
        (unit,), (letter,) = schemas["data"].units, schemas["data"].quasi
        sets = {}
        for person, sign in tables["data"].select(unit, letter).iter_rows():
            sets.setdefault(person, set()).add(sign)
        return cls(tuple(map(frozenset, sets.values())), schemas["data"], source)

    def to_tables(self):
        (unit,), (letter,) = self.schema.units, self.schema.quasi
        rows = [(person, sign) for person, signs in enumerate(self.sets) for sign in sorted(signs)]
        return {"data": pl.DataFrame(rows, schema={unit: pl.Int64, letter: pl.String}, orient="row")}

    @property
    def people(self):
        return len(self.sets)

    def counts(self):
        return {"people": len(self.sets)}

    def shuffled(self, stream):
        return self.take(stream.permutation(len(self.sets)))

    def take(self, order):
        origin = np.arange(len(self.sets)) if self.origin is None else self.origin
        return dataclasses.replace(self, sets=tuple(self.sets[i] for i in order), origin=origin[order])


@parameters
class Company(Model):
    """Every letter is had by k people or by nobody."""

    k: int = Field(ge=1, description="people who have it")

    shapes: ClassVar[frozenset[Shape]] = frozenset({LETTERS})
    name: ClassVar[str] = "company"
    facts: ClassVar[Facts] = Facts(against="identity")

    @property
    def promise(self):
        return f"company of {self.k}"

    def judge(self, evidence):
        least = min(Counter(sign for signs in evidence.data.sets for sign in signs).values())
        sentence = f"the rarest letter is had by {least}"
        return make_verdict(self, holds=least >= self.k, attained=least, required=self.k, sentence=sentence)


@dataclasses.dataclass(frozen=True)
class RareLetters(Plan):
    """The letters that go."""

    letters: frozenset[str]

    def describe(self):
        return {"dropped": len(self.letters)}


@parameters
class DropRare(Step):
    """Drop letters that fewer people have than is promised, and whoever is left without any."""

    shapes: ClassVar[frozenset[Shape]] = frozenset({LETTERS})
    name: ClassVar[str] = "drop_rare"

    def plan(self, people, goal):
        k = max(model.k for model in goal.models)
        counts = Counter(sign for signs in people.sets for sign in signs)
        return RareLetters(frozenset(sign for sign, count in counts.items() if count < k))

    def apply(self, people, plan):
        sets = tuple(signs - plan.letters for signs in people.sets)
        rows = np.array([i for i, signs in enumerate(sets) if signs], dtype=np.int64)
        return dataclasses.replace(people, sets=sets).take(rows)


FAMILIES = {
    "models": Members("", {"company": Company}),
    "steps": Members("", {"drop_rare": DropRare}),
    "risk": Members("", {}),
    "utility": Members("", {}),
}


def noun():
    return Letters
'''
FILES = {
    "model": MODEL,
    "step": STEP,
    "metric": METRIC,
    "attack": ATTACK,
    "hierarchy": HIERARCHY,
    "command": COMMAND,
    "language": LANGUAGE,
    "file_format": FILE_FORMAT,
    "engine": ENGINE,
    "stage": STAGE,
    "shape": SHAPE,
}
ENTRIES = {
    "models": ("crowd_of", "model:CrowdOf"),
    "steps": ("cut_off", "step:CutOff"),
    "utility": ("rows_lost", "metric:RowsLost"),
    "risk": ("lucky_guess", "attack:LuckyGuess"),
    "hierarchies": ("first_letter", "hierarchy:FirstLetter"),
}
KINDS = {
    "commands": ("greet", "command:greet"),
    "policy_languages": ("names", "language:Names"),
    "formats": ("bars", "file_format:Bars"),
    "engines": ("turtle", "engine"),
    "stages": ("notes", "stage:STAGE"),
    "shapes": ("letters", "shape"),
}
"""Kinds that no recipe names."""
NAMES = {family: name for family, (name, _) in ENTRIES.items()}
RECIPE = """
sfumato: 1
columns:
  age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [20, 40]}}}
  town: {role: quasi, hierarchy: first_letter}
  wage: {role: sensitive, kind: numeric}
meet:
  - crowd_of: 4
steps:
  - cut_off: {column: wage, base: 100}
  - global_recoding: {budget: 0.1}
limits: {rows_lost: 0.5, lucky_guess: 0.5}
"""
LETTERS_RECIPE = """
sfumato: 1
shape: letters
columns: {who: person, letter: quasi}
meet: [{company: {k: 2}}]
steps: [drop_rare]
"""
HELD = """
sfumato: 1
columns:
  age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [20, 40]}}}
  town: {role: quasi, hierarchy: suppress}
  wage: {role: sensitive, kind: numeric}
meet: [{k_anonymity: 4}]
steps: [{global_recoding: {budget: 0.1}}]
"""


def announce(monkeypatch, entries):
    """Let entry points say what they would say if a package were installed: ``entries`` holds
    (group, name, value).
    """
    points = [importlib.metadata.EntryPoint(name, value, group) for group, name, value in entries]
    real = importlib.metadata.entry_points

    def entry_points(**wanted):
        return real(**wanted) if wanted else importlib.metadata.EntryPoints(points)

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    registry.forget_plug_ins()


@pytest.fixture
def announced(monkeypatch):
    """How to announce entry points; afterwards the registry is what it was."""
    yield lambda *entries: announce(monkeypatch, entries)
    monkeypatch.undo()
    registry.forget_plug_ins()


@pytest.fixture
def package(tmp_path, monkeypatch, announced):
    """The package, written and announced."""
    folder = tmp_path / "their_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    for name, text in FILES.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    announced(
        *(
            (f"sfumato.{f}", name, f"their_package.{place}")
            for f, (name, place) in {**ENTRIES, **KINDS}.items()
        )
    )
    yield folder
    for module in [name for name in sys.modules if name.split(".")[0] == "their_package"]:
        del sys.modules[module]


@pytest.fixture
def people(tmp_path):
    """A table of 60 people, as a CSV file."""
    draw = np.random.default_rng(4)
    frame = pl.DataFrame(
        {
            "age": draw.integers(20, 60, 60),
            "town": draw.choice(["Ulm", "Unna", "Kiel", "Kehl"], 60),
            "wage": draw.integers(1000, 3000, 60),
        }
    )
    frame.write_csv(file := tmp_path / "people.csv")
    return file


@pytest.fixture
def sfumato(monkeypatch, capfd):
    """A command line in this process: what it prints; it must end well."""

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["sfumato", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code
        said = capfd.readouterr()
        assert not code, said.err
        return said.out

    return run


# --- known everywhere ---


@pytest.mark.parametrize(("family", "name"), NAMES.items())
def test_it_is_listed_and_explained(package, sfumato, family, name):
    listed = json.loads(sfumato("list", family, "--json"))[family]
    assert next(entry["meaning"] for entry in listed if entry["name"] == name)
    explained = json.loads(sfumato("explain", name, "--json"))
    assert explained["family"] == family and all(field["meaning"] for field in explained["fields"])
    assert name in sfumato("explain", f"{family}/{name}")


def test_a_recipe_holds_all_of_it(package):
    recipe = recipe_files.parse(RECIPE)
    assert [model.name for model in recipe.meet] == ["crowd_of"]
    assert recipe_files.parse(recipe_files.dump(recipe)) == recipe
    with pytest.raises(RecipeError, match="n should be greater than or equal to 1"):
        recipe_files.parse(RECIPE.replace("crowd_of: 4", "crowd_of: 0"))


def test_pages_have_words_for_it(package):
    assert title_of("rows_lost") == "Rows lost"
    assert (
        plain_words("lucky_guess") == "Somebody points at a record with closed eyes (lucky guess)"
    )
    assert "lucky_guess" in BATTERY[0].attacks and not any(
        "lucky_guess" in other.attacks for other in BATTERY[1:]
    )


@pytest.mark.slow
@pytest.mark.parametrize("family", NAMES)
def test_the_workbench_has_a_form_for_it(package, family):
    cls = registry.family(family)[NAMES[family]]
    fields = form_of(cls)
    assert all(field.help for field in fields)
    lacking = {
        field.name: 4 if field.kind == "number" else "age" for field in fields if field.required
    }
    assert read_form(cls, {**{field.name: field.value for field in fields}, **lacking}) == cls(
        **lacking
    )


def test_the_whole_way(package, sfumato, people, tmp_path):
    recipe, release = tmp_path / "recipe.yaml", tmp_path / "release"
    recipe.write_text(RECIPE, encoding="utf-8")
    sfumato("run", people, "-r", recipe, "-o", release, "--attack", "5", "-q")
    certificate = json.loads((release / "share" / "certificate.json").read_text())
    assert [v["model"] for v in certificate["verdicts"]] == ["crowd_of"] and certificate[
        "verdicts"
    ][0]["holds"]
    assert "cut_off" in [step["step"] for step in certificate["plan"]]
    pages = {page.name: page.read_text(encoding="utf-8") for page in release.rglob("*.html")}
    assert pages and all("a crowd of 4" in page for page in pages.values())
    measured = json.loads(sfumato("evaluate", release, "--original", people, "--json", "-q"))
    assert "rows_lost" in [measure["name"] for measure in measured["measures"]]
    report = json.loads(
        sfumato("attack", release, "--original", people, "--attack", "lucky_guess", "--json", "-q")
    )
    assert [tried["attack"] for tried in report["tried"]] == ["lucky_guess"]
    assert "crowd of 4" in sfumato("verify", release / "share", "--original", people)


# --- what no recipe names ---


def test_a_command_is_called_and_is_in_the_help(package, sfumato):
    assert sfumato("greet", "Anna") == "Good day, Anna\n"
    assert "who is greeted" in sfumato("greet", "--help")
    help_page = sfumato("--help")
    assert "greet" in help_page and "their_package.command" in help_page


def test_our_commands_look_for_no_plug_in(package, sfumato, monkeypatch):
    def forbidden(kind):
        raise AssertionError(f"plug-ins of {kind} were looked for")

    monkeypatch.setattr(plug_ins, "announced", forbidden)
    assert "--original" in sfumato("verify", "--help")
    assert "bars" not in formats.FORMATS.ours and "csv" in formats.FORMATS


def test_a_broken_command_does_not_break_the_help(announced, sfumato):
    announced(("sfumato.commands", "broken", "not_a_package_of_anyone:run"))
    assert "broken" in sfumato("--help")


def test_a_policy_in_their_language_is_written_read_and_checked(package, sfumato, tmp_path):
    file = tmp_path / "policy.txt"
    file.write_text(write_policy(Policy("study"), "names"))
    assert file.read_text() == "name study\n" and Policy.load(file) == Policy("study")
    assert {finding.line for finding in lint_text("name study")} == {1}
    with pytest.raises(PolicyError, match=r"ours, .*names"):
        parse_policy('{"rules": []}')


def test_a_table_in_their_format_goes_the_whole_way(package, sfumato, people, tmp_path):
    source, recipe, release = (
        tmp_path / "people.bars",
        tmp_path / "recipe.yaml",
        tmp_path / "release",
    )
    table = sf.read(people)
    write_table(table.to_polars(), source, table.source)
    assert source.read_bytes().startswith(b"BARS\n")
    assert sf.read(source).to_polars().equals(table.to_polars())
    unnamed = tmp_path / "people.unknown"
    unnamed.write_bytes(source.read_bytes())
    assert sf.read(unnamed).source.format == "bars"
    recipe.write_text(RECIPE, encoding="utf-8")
    sfumato("run", source, "-r", recipe, "-o", release, "-q")
    assert next((release / "share").glob("*.bars")).read_bytes().startswith(b"BARS\n")
    assert "crowd of 4" in sfumato("verify", release / "share", "--original", source)


def test_data_of_their_shape_go_the_whole_way(package, sfumato, tmp_path):
    letters, recipe = tmp_path / "letters.csv", tmp_path / "letters.yaml"
    release = tmp_path / "release"
    words = ("abc", "abx", "bc", "ac", "z")
    rows = [f"{who},{sign}" for who, signs in enumerate(words) for sign in signs]
    letters.write_text("\n".join(["who,letter", *rows]) + "\n", encoding="utf-8")
    recipe.write_text(LETTERS_RECIPE, encoding="utf-8")
    sfumato("run", letters, "-r", recipe, "-o", release, "--attack", "0", "--seed", "7", "-q")
    released = pl.read_csv(release / "share" / "data.csv")
    assert sorted(released["letter"].to_list()) == sorted("abcabbcac"), "x and z are gone"
    assert released["who"].n_unique() == 4, "nobody is released without a letter"
    certificate = json.loads((release / "share" / "certificate.json").read_text())
    assert certificate["shape"] == "letters" and certificate["verdicts"][0]["holds"]
    verification = json.loads(
        sfumato("verify", release / "share", "--original", letters, "--json", "-q")
    )
    assert {claim["status"] for claim in verification["claims"]} <= {"holds", "unknown"}
    assert "company of 2" in sfumato("check", release / "share" / "data.csv", "-r", recipe)


def test_a_shape_that_is_known_as_another_is_refused(package, announced):
    announced(("sfumato.shapes", "signs", "their_package.shape"))
    with pytest.raises(ParameterError, match=r"cannot be loaded"):
        registry.data_class(Shape("signs"))  # the file asks for the shape that it calls itself
    with pytest.raises(ValueError, match="'letters' is not a valid Shape"):
        Shape("letters")


def test_their_engine_releases_what_polars_does(package, sfumato, people, tmp_path):
    table, recipe = tmp_path / "people.parquet", tmp_path / "recipe.yaml"
    pl.read_csv(people).write_parquet(table)
    recipe.write_text(HELD, encoding="utf-8")
    for engine in ("turtle", "polars"):
        sfumato(
            "run",
            table,
            "-r",
            recipe,
            "-o",
            tmp_path / engine,
            "--engine",
            engine,
            "--seed",
            "3",
            "-q",
        )
    theirs, ours = (
        sorted((tmp_path / engine / "share").rglob("*.parquet")) for engine in ("turtle", "polars")
    )
    assert theirs and [part.read_bytes() for part in theirs] == [part.read_bytes() for part in ours]


def test_their_stage_comes_last_and_draws_itself(package):
    assert [stage.name for stage in all_stages()] == [*(stage.name for stage in STAGES), "Notes"]
    assert all_stages()[-1].import_module().draw.__doc__ == "Notes about the table."
    assert all(callable(stage.import_module().draw) for stage in STAGES)


def test_a_stage_at_an_address_of_ours_is_refused(package, announced):
    (package / "stage.py").write_text(STAGE.replace('"/notes"', '"/run"'), encoding="utf-8")
    announced(("sfumato.stages", "notes", "their_package.stage:STAGE"))
    with pytest.raises(ParameterError, match="has the name"):
        all_stages()


@pytest.mark.parametrize(
    ("kind", "value"),
    [("formats", "json:JSONDecoder"), ("policy_languages", "json:dumps"), ("engines", "json")],
)
def test_what_is_nothing_of_its_kind_is_refused(announced, kind, value):
    announced((f"sfumato.{kind}", "theirs", value))
    members = {"formats": formats.FORMATS, "policy_languages": dialects.ALL, "engines": ENGINES}[
        kind
    ]
    with pytest.raises(ParameterError, match=f"plug-in '{value}' does not define a usable "):
        members["theirs"]


def test_what_is_no_shape_of_data_is_refused(announced):
    announced(("sfumato.shapes", "theirs", "json"))
    with pytest.raises(
        ParameterError, match="plug-in 'json' does not define a usable shape of data"
    ):
        registry.family("models", Shape("theirs"))


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("formats", "csv"),
        ("policy_languages", "ours"),
        ("engines", "polars"),
        ("commands", "run"),
        ("shapes", "graph"),
    ],
)
def test_a_name_of_ours_is_refused_for_every_kind(package, announced, kind, name):
    announced((f"sfumato.{kind}", name, f"their_package.{KINDS[kind][1]}"))
    uses = {
        "commands": lambda: build_app(["--help"]),
        "formats": lambda: list(formats.FORMATS),
        "engines": lambda: list(ENGINES),
        "policy_languages": lambda: list(dialects.ALL),
        "shapes": known_shapes,
    }
    with pytest.raises(ParameterError, match="has the name"):
        uses[kind]()


def test_a_plug_in_is_called_as_it_is_announced(package, announced):
    announced(("sfumato.formats", "rods", "their_package.file_format:Bars"))
    with pytest.raises(ParameterError, match="but its name is"):
        formats.FORMATS["rods"]


# --- the contracts of the families ---


def test_the_model_keeps_the_contract_of_models(package):
    cls = registry.family("models")["crowd_of"]
    for check in (
        model_contract.test_builds_from_generated_parameters,
        model_contract.test_describes_itself,
        model_contract.test_a_promise_tells_its_degree,
        model_contract.test_recipe_round_trip,
        model_contract.test_wrong_values_are_refused,
        model_contract.test_an_empty_table_keeps_every_promise,
        model_contract.test_the_weakest_is_implied_by_all_others,
    ):
        check(cls)


def test_the_model_is_asked_and_judged(package, people):
    question = registry.ask("crowd_of")
    assert question.left_open == ("n",)
    table = sf.read(people).with_roles(quasi=["town"])
    assert [verdict.promise for verdict in sf.judge(table, "crowd_of:2")] == ["a crowd of 2"]


def test_the_metric_keeps_the_contract_of_metrics(package):
    metric = registry.build("utility", "rows_lost")
    for check in (
        utility_contract.test_written_and_read,
        utility_contract.test_required_fields_are_known,
        utility_contract.test_identity_and_nothing,
        utility_contract.test_of_a_release,
        utility_contract.test_kind_of_frame_does_not_matter,
        utility_contract.test_no_rows,
        utility_contract.test_one_row,
    ):
        check(metric)


def test_the_hierarchy_keeps_the_contract_of_hierarchies(package):
    keeps_the_contract(registry.build("hierarchies", "first_letter"), ["Ulm", "Unna", "Kiel"])


def test_the_step_gives_the_same_in_every_frame_and_order(package):
    step = registry.build("steps", {"cut_off": "age"})
    every = masking_contract.in_all_frames(masking_contract.people(gaps=False))
    made = {
        kind: step.apply(table, step.plan(table, Goal(seed=Seed(1))))
        for kind, table in every.items()
    }
    assert len({tuple(masking_contract.multiset(table)) for table in made.values()}) == 1


# --- what is refused ---


def test_without_a_plug_in_nothing_is_known_of_it():
    assert not [name for family, name in NAMES.items() if name in registry.family(family)]


def test_a_name_of_ours_is_refused(package, announced):
    (package / "model.py").write_text(
        MODEL.replace('"crowd_of"', '"k_anonymity"'), encoding="utf-8"
    )
    announced(("sfumato.models", "mine", "their_package.model:CrowdOf"))
    with pytest.raises(ParameterError, match="has the name"):
        registry.family("models")
    assert registry.family("steps"), "other families are not concerned"


def test_two_plug_ins_of_one_name_are_refused(package, announced):
    announced(
        *((("sfumato.models", name, "their_package.model:CrowdOf")) for name in ("one", "two"))
    )
    with pytest.raises(ParameterError, match=r"has the name"):
        registry.family("models")


@pytest.mark.parametrize("value", ["not_a_package_of_anyone:Model", "json:Nothing"])
def test_what_cannot_be_loaded_is_named(announced, value):
    announced(("sfumato.models", "theirs", value))
    with pytest.raises(
        ParameterError, match=f"plug-in '{value}' cannot be loaded .*; repair or uninstall it"
    ):
        registry.family("models")


@pytest.mark.parametrize("family", registry.FAMILIES)
@pytest.mark.parametrize("value", ["json:dumps", "json:JSONDecoder", "sfumato.core.model:Facts"])
def test_what_is_nothing_of_the_family_is_refused(announced, family, value):
    announced((f"sfumato.{family}", "theirs", value))
    with pytest.raises(ParameterError, match=f"plug-in '{value}' does not define a usable "):
        registry.family(family)


@pytest.mark.parametrize(
    ("family", "file", "lacking"),
    [
        ("models", "model:CrowdOf", "judge"),
        ("steps", "step:CutOff", "apply"),
        ("hierarchies", "hierarchy:FirstLetter", "paths"),
    ],
)
def test_what_does_not_say_all_it_must_is_refused(package, announced, family, file, lacking):
    path = package / f"{file.partition(':')[0]}.py"
    path.write_text(
        path.read_text(encoding="utf-8").replace(f"def {lacking}(", "def another("),
        encoding="utf-8",
    )
    announced((f"sfumato.{family}", "theirs", f"their_package.{file}"))
    with pytest.raises(ParameterError, match="does not define a usable "):
        registry.family(family)


HOOKS = {"attack", "better", "title", "line", "tried_by", "turn", "judges_detail"}


def test_what_metrics_and_attacks_may_say_is_never_looked_for_by_name():
    """They are members with a default; whoever asks by ``getattr`` would take a typing error for a
    default.
    """
    asked = []
    sources = {
        path: path.read_text(encoding="utf-8") for path in Path(sf.__file__).parent.rglob("*.py")
    }
    for path, source in sources.items():
        if "getattr" not in source and "hasattr" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
                "getattr",
                "hasattr",
            ):
                name = node.args[1].value if isinstance(node.args[1], ast.Constant) else None
                asked += [f"{path.name}:{node.lineno}"] if name in HOOKS else []
    assert not asked


def test_an_attack_of_an_unknown_intruder_is_refused(package, monkeypatch, people):
    monkeypatch.setattr(registry.family("risk")["lucky_guess"], "tried_by", ("colleage",))
    table = sf.read(people).with_roles(quasi=["age", "town"])
    with pytest.raises(ParameterError, match=r", which is not an intruder"):
        attack_release(TablePair.of(table, table), only=["linkage"])
