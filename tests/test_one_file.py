"""One file and one entry: a package that is not ours adds one of everything, and everything works on it.

The package is written into an empty folder and announced by entry points, as an installed one would be. Not a line of ours
names anything in it.
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
from sfumato.core import recipe_files, registry
from sfumato.core.pair import Pair
from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.errors import ParameterError, RecipeError
from sfumato.interfaces.cli import main
from sfumato.interfaces.web.forms import form_of, read_form
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
FILES = {"model": MODEL, "step": STEP, "metric": METRIC, "attack": ATTACK, "hierarchy": HIERARCHY}
ENTRIES = {
    "models": ("crowd_of", "model:CrowdOf"),
    "steps": ("cut_off", "step:CutOff"),
    "utility": ("rows_lost", "metric:RowsLost"),
    "risk": ("lucky_guess", "attack:LuckyGuess"),
    "hierarchies": ("first_letter", "hierarchy:FirstLetter"),
}
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


def announce(monkeypatch, entries):
    """Let entry points say what they would say if a package were installed: ``entries`` holds (group, name, value)."""
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
    announced(*((f"sfumato.{f}", name, f"their_package.{place}") for f, (name, place) in ENTRIES.items()))
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
    assert plain_words("lucky_guess") == "Somebody points at a record with closed eyes (lucky guess)"
    assert "lucky_guess" in BATTERY[0].attacks and not any("lucky_guess" in other.attacks for other in BATTERY[1:])


@pytest.mark.slow
@pytest.mark.parametrize("family", NAMES)
def test_the_workbench_has_a_form_for_it(package, family):
    cls = registry.family(family)[NAMES[family]]
    fields = form_of(cls)
    assert all(field.help for field in fields)
    lacking = {field.name: 4 if field.kind == "number" else "age" for field in fields if field.required}
    assert read_form(cls, {**{field.name: field.value for field in fields}, **lacking}) == cls(**lacking)


def test_the_whole_way(package, sfumato, people, tmp_path):
    recipe, release = tmp_path / "recipe.yaml", tmp_path / "release"
    recipe.write_text(RECIPE, encoding="utf-8")
    sfumato("run", people, "-r", recipe, "-o", release, "--attack", "5", "-q")
    certificate = json.loads((release / "share" / "certificate.json").read_text())
    assert [v["model"] for v in certificate["verdicts"]] == ["crowd_of"] and certificate["verdicts"][0]["holds"]
    assert "cut_off" in [step["step"] for step in certificate["plan"]]
    pages = {page.name: page.read_text(encoding="utf-8") for page in release.rglob("*.html")}
    assert pages and all("a crowd of 4" in page for page in pages.values())
    measured = json.loads(sfumato("evaluate", release, "--original", people, "--json", "-q"))
    assert "rows_lost" in [measure["name"] for measure in measured["measures"]]
    report = json.loads(sfumato("attack", release, "--original", people, "--attack", "lucky_guess", "--json", "-q"))
    assert [tried["attack"] for tried in report["tried"]] == ["lucky_guess"]
    assert "crowd of 4" in sfumato("verify", release / "share", "--original", people)


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
    made = {kind: step.apply(table, step.plan(table, Goal(seed=Seed(1)))) for kind, table in every.items()}
    assert len({tuple(masking_contract.multiset(table)) for table in made.values()}) == 1


# --- what is refused ---


def test_without_a_plug_in_nothing_is_known_of_it():
    assert not [name for family, name in NAMES.items() if name in registry.family(family)]


def test_a_name_of_ours_is_refused(package, announced):
    (package / "model.py").write_text(MODEL.replace('"crowd_of"', '"k_anonymity"'), encoding="utf-8")
    announced(("sfumato.models", "mine", "their_package.model:CrowdOf"))
    with pytest.raises(ParameterError, match="is called 'k_anonymity', as sfumato itself has one already"):
        registry.family("models")
    assert registry.family("steps"), "other families are not concerned"


def test_two_plug_ins_of_one_name_are_refused(package, announced):
    announced(*((("sfumato.models", name, "their_package.model:CrowdOf")) for name in ("one", "two")))
    with pytest.raises(ParameterError, match=r"as their_package\.model has one already"):
        registry.family("models")


@pytest.mark.parametrize("value", ["not_a_package_of_anyone:Model", "json:Nothing"])
def test_what_cannot_be_loaded_is_named(announced, value):
    announced(("sfumato.models", "theirs", value))
    with pytest.raises(ParameterError, match=f"plug-in '{value}' cannot be loaded .*; repair or uninstall it"):
        registry.family("models")


@pytest.mark.parametrize("family", registry.FAMILIES)
@pytest.mark.parametrize("value", ["json:dumps", "json:JSONDecoder", "sfumato.core.model:Facts"])
def test_what_is_nothing_of_the_family_is_refused(announced, family, value):
    announced((f"sfumato.{family}", "theirs", value))
    with pytest.raises(ParameterError, match=f"plug-in '{value}' is no "):
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
    path.write_text(path.read_text(encoding="utf-8").replace(f"def {lacking}(", "def another("), encoding="utf-8")
    announced((f"sfumato.{family}", "theirs", f"their_package.{file}"))
    with pytest.raises(ParameterError, match="is no "):
        registry.family(family)


HOOKS = {"attack", "better", "title", "line", "tried_by", "turn", "judges_detail"}


def test_what_metrics_and_attacks_may_say_is_never_looked_for_by_name():
    """They are members with a default; whoever asks by ``getattr`` would take a typing error for a default."""
    asked = []
    sources = {path: path.read_text(encoding="utf-8") for path in Path(sf.__file__).parent.rglob("*.py")}
    for path, source in sources.items():
        if "getattr" not in source and "hasattr" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "hasattr"):
                name = node.args[1].value if isinstance(node.args[1], ast.Constant) else None
                asked += [f"{path.name}:{node.lineno}"] if name in HOOKS else []
    assert not asked


def test_an_attack_of_an_unknown_intruder_is_refused(package, monkeypatch, people):
    monkeypatch.setattr(registry.family("risk")["lucky_guess"], "tried_by", ("colleage",))
    table = sf.read(people).with_roles(quasi=["age", "town"])
    with pytest.raises(ParameterError, match=r"'colleage', who is no intruder\. Did you mean 'colleague'\?"):
        attack_release(Pair.of(table, table), only=["linkage"])
