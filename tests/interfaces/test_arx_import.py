"""Projects of ARX, made here in the layout that ARX 3.7 saves: what is taken over, what is named,
what is refused.
"""

from __future__ import annotations

import math
import random
import struct
import zipfile
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.errors import ParameterError, UnreadableInput
from sfumato.interfaces.arx_import import CRITERIA, read_arx
from sfumato.interfaces.cli.app import build_app

METADATA = "<metadata><version>3.7.0</version><vocabulary>2.0</vocabulary></metadata>"
PROJECT = "<project><name>Visits</name><separator>;</separator></project>"
CONFIG = """<config>
  <relativeMaxOutliers>0.1</relativeMaxOutliers>
  <metric>Loss (0.5/1.0/1.0)</metric>
  <attributeWeights>{weights}</attributeWeights>
  <criteria>{criteria}</criteria>
</config>"""
COLUMN = """<assigment><name>{name}</name><type>{kind}</type><datatype>String</datatype>{ref}<min>{low}</min><max>{high}</max></assigment>"""
ROWS = [
    "name;age;zip;illness;ward",
    *(f"p{i};{20 + i % 4};{'10' if i % 2 else '20'};{'ab'[i % 2]};w" for i in range(40)),
]
AGES = "\n".join(f"{age};{'20-21' if age < 22 else '22-23'};*" for age in range(20, 24))


def column(name: str, kind: str, ref: str = "", low: str = "All", high: str = "All") -> str:
    told = f"<ref>{ref}</ref>" if ref else ""
    return COLUMN.format(name=name, kind=kind, ref=told, low=low, high=high)


def project(
    folder: Path, *, criteria: tuple[str, ...] = ("2-anonymity",), weights: str = "", **changed: str
) -> Path:
    """A small project; keyword arguments replace parts, with ``_`` for ``/`` and the ending left
    out.
    """
    definition = "".join(
        [
            column("name", "IDENTIFYING_ATTRIBUTE"),
            column("age", "QUASI_IDENTIFYING_ATTRIBUTE", "hierarchies/age.csv", "0", "1"),
            column("zip", "QUASI_IDENTIFYING_ATTRIBUTE"),
            column("illness", "SENSITIVE_ATTRIBUTE"),
        ]
    )
    told = "".join(f"<criterion>{criterion}</criterion>" for criterion in criteria)
    parts = {
        "metadata.xml": METADATA,
        "project.xml": PROJECT,
        "input/definition.xml": f"<definition>{definition}</definition>",
        "input/config.xml": CONFIG.format(weights=weights, criteria=told),
        "input/hierarchies/age.csv": AGES,
        "data/input.csv": "\n".join(ROWS) + "\n",
        "attributes.dat": "\xac\xed serialised",
        **changed,
    }
    file = folder / "visits.deid"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return file


def test_roles_hierarchies_models_and_the_table_are_taken_over(tmp_path: Path) -> None:
    read = read_arx(
        project(tmp_path, criteria=("2-anonymity", "distinct-2-diversity for attribute 'illness'"))
    )
    folder = read.write(tmp_path / "taken")
    recipe = recipes.load(folder / "recipe.yaml")
    assert {n: [str(r) for r in a.roles] for n, a in recipe.schema.attributes.items()} == {
        "name": ["drop"],
        "age": ["quasi"],
        "zip": ["quasi"],
        "illness": ["sensitive"],
        "ward": ["ask"],  # the definition says nothing of it, so somebody has to decide
    }
    assert [model.promise for model in recipe.meet] == ["2-anonymity", "2-diversity of illness"]
    assert recipe.steps == (sf.GlobalRecoding(budget=0.1, levels={"age": (0, 1)}),)
    assert (folder / "hierarchies" / "01.csv").read_text() == AGES
    assert any("never opened" in what for what in read.not_taken)


def test_what_was_imported_runs_and_verifies(tmp_path: Path) -> None:
    described = f"<definition>{column('age', 'QUASI_IDENTIFYING_ATTRIBUTE', 'hierarchies/age.csv')}"
    described += "".join(
        column(name, "INSENSITIVE_ATTRIBUTE") for name in ("name", "zip", "illness", "ward")
    )
    file = project(tmp_path, **{"input/definition.xml": described + "</definition>"})
    runner, app = CliRunner(), build_app()
    made = runner.invoke(app, ["import", str(file), "-o", str(tmp_path / "taken")])
    assert made.exit_code == 0, made.output
    told = [
        "run",
        str(tmp_path / "taken/data.csv"),
        "-r",
        str(tmp_path / "taken/recipe.yaml"),
        "-o",
        str(tmp_path / "out"),
    ]
    assert runner.invoke(app, told).exit_code == 0
    assert runner.invoke(app, ["verify", str(tmp_path / "out/share")]).exit_code == 7


@pytest.mark.parametrize(
    ("criterion", "promise"),
    [
        ("5-anonymity", "5-anonymity"),
        ("distinct-3-diversity for attribute 'illness'", "3-diversity of illness"),
        ("shannon-entropy-3.0-diversity for attribute 'illness'", "entropy 3-diversity of illness"),
        ("entropy-2.5-diversity for attribute 'illness'", "entropy 2.5-diversity of illness"),
        (
            "recursive-(4.0,3)-diversity for attribute 'illness'",
            "recursive (4, 3)-diversity of illness",
        ),
        (
            "0.2-closeness with equal ground-distance for attribute 'illness'",
            "0.2-closeness of illness",
        ),
        ("0.2-closeness with ordered distance for attribute 'illness'", "0.2-closeness of illness"),
        (
            "1.0-disclosure privacy for attribute 'illness'",
            "0.693147-disclosure privacy of illness (absent values skipped)",
        ),
        ("basic-1.0-likeness for attribute 'illness'", "1-likeness of illness"),
        ("enhanced-1.0-likeness for attribute 'illness'", "1-likeness of illness"),
    ],
)
def test_every_way_arx_writes_a_model_is_read(tmp_path: Path, criterion: str, promise: str) -> None:
    # the spelling of ARX 3.9's own toString methods
    read = read_arx(project(tmp_path, criteria=(criterion,)))
    assert len(read.document["meet"]) == 1
    from sfumato.core import registry

    told = registry.build("models", read.document["meet"][0]).promise
    assert [word for word in promise.split() if word not in told.split()] in (
        [],
        promise.split()[:1],
    ), told


@pytest.mark.parametrize(
    "criterion", ["Inclusion", "grassberger-entropy-3.0-diversity for attribute 'illness'", "2-map"]
)
def test_a_model_without_counterpart_is_named_not_dropped_in_silence(
    tmp_path: Path, criterion: str
) -> None:
    read = read_arx(project(tmp_path, criteria=(criterion,)))
    assert not read.document["meet"]
    assert f"the privacy model '{criterion}'" in read.not_taken


def test_weights_that_differ_are_kept(tmp_path: Path) -> None:
    weights = "".join(
        f"<attributeWeight><attribute>{name}</attribute><weight>{weight}</weight></attributeWeight>"
        for name, weight in (("age", 0.25), ("zip", 0.75))
    )
    (step,) = read_arx(project(tmp_path, weights=weights)).document["steps"]
    assert step["global_recoding"]["weights"] == {"age": 0.25, "zip": 0.75}


BOMB = (
    '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "cc"><!ENTITY c'
    ' "&b;&b;">]><metadata><version>&c;</version></metadata>'
)
OUTSIDE = (
    '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM'
    ' "file:///etc/hostname">]><metadata><version>&b;</version></metadata>'
)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"metadata.xml": BOMB}, "entities"),
        ({"metadata.xml": OUTSIDE}, "entities"),
        ({"../outside.csv": "x"}, "leads out"),
        ({"/etc/passwd": "x"}, "leads out"),
        ({"input/config.xml": "<config>"}, "is not XML"),
        ({"input/definition.xml": "<definition></definition>"}, "no columns"),
        ({"swollen.xml": "0" * 4_000_000}, "unpacks to more than"),
    ],
)
def test_a_hostile_archive_is_refused(tmp_path: Path, changed: dict[str, str], said: str) -> None:
    with pytest.raises(UnreadableInput, match=said):
        read_arx(project(tmp_path, **changed))
    assert not (tmp_path.parent / "outside.csv").exists()


def test_a_reference_of_the_definition_cannot_name_a_file_of_the_machine(tmp_path: Path) -> None:
    described = column("age", "QUASI_IDENTIFYING_ATTRIBUTE", "../../../../etc/hostname")
    read = read_arx(
        project(tmp_path, **{"input/definition.xml": f"<definition>{described}</definition>"})
    )
    assert not read.hierarchies
    assert any("is missing from the archive" in what for what in read.not_taken)


def test_a_damaged_archive_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    file = project(tmp_path)
    data = bytearray(file.read_bytes())
    place = data.find(b"data/input.csv") + len("data/input.csv") + 5
    data[place : place + 20] = bytes(20)
    file.write_bytes(data)
    with pytest.raises(UnreadableInput, match="damaged"):
        read_arx(file).write(tmp_path / "taken")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["visits.deid"]
    file.write_bytes(b"PK" + struct.pack("<I", 7))
    with pytest.raises(UnreadableInput, match="not a zip"):
        read_arx(file)


def test_an_archive_without_its_parts_and_a_folder_that_is_there_are_refused(
    tmp_path: Path,
) -> None:
    with zipfile.ZipFile(tmp_path / "other.deid", "w") as archive:
        archive.writestr("readme.txt", "x")
    with pytest.raises(UnreadableInput, match="not a project of ARX"):
        read_arx(tmp_path / "other.deid")
    with pytest.raises(ParameterError, match="already exists"):
        read_arx(project(tmp_path)).write(tmp_path)


def test_every_criterion_names_a_model_that_exists() -> None:
    import re

    for pattern, model in CRITERIA.items():
        groups = re.compile(pattern).groups
        named = pattern.endswith("'(.*)'")
        built = model(*(["1"] * (groups - named)), *(["illness"] if named else []))
        assert recipes.registry.build("models", built)


@pytest.mark.parametrize(
    ("name", "columns", "records"), [("example", 9, 30_162), ("example2", 30, 68_725)]
)
def test_projects_that_arx_itself_saved(
    reference_data: Path, tmp_path: Path, name: str, columns: int, records: int
) -> None:
    read = read_arx(reference_data / "arx_projects" / f"{name}.deid")
    folder = read.write(tmp_path / "taken")
    recipe = recipes.load(folder / "recipe.yaml")
    assert len(recipe.schema.attributes) == columns == len(read.hierarchies)
    assert recipe.meet == (sf.KAnonymity(5),)
    assert len(sf.read(folder / "data.csv", recipe=recipe)) == records


def settings_of(folder: Path, more: str, of_age: str = "", about: str = "") -> str:
    """What is said when a project has some more settings."""
    age = column("age", "QUASI_IDENTIFYING_ATTRIBUTE", "hierarchies/age.csv").replace(
        "</assigment>", f"{of_age}</assigment>"
    )
    config = CONFIG.format(weights="", criteria="<criterion>2-anonymity</criterion>").replace(
        "</config>", f"{more}</config>"
    )
    parts = {"input/config.xml": config, "input/definition.xml": f"<definition>{age}</definition>"}
    parts["project.xml"] = PROJECT.replace("</project>", f"{about}</project>")
    return str(read_arx(project(folder, **parts)))


@pytest.mark.parametrize(
    ("more", "of_age", "about", "named"),
    [
        ("", "", "", "the quality model 'Loss (0.5/1.0/1.0)'"),
        (
            "<suppressionAlwaysEnabled>true</suppressionAlwaysEnabled>",
            "",
            "",
            "'suppressionAlwaysEnabled' (true)",
        ),
        ("<suppressionString>NA</suppressionString>", "", "", "'suppressionString' (NA)"),
        (
            "<suppressedAttributeTypes><type>x</type></suppressedAttributeTypes>",
            "",
            "",
            "are starred",
        ),
        (
            "<practicalMonotonicity>true</practicalMonotonicity>",
            "",
            "",
            "'practicalMonotonicity' (true)",
        ),
        ("<somethingNew>3</somethingNew>", "", "", "'somethingNew' (3)"),
        ("", "<format>dd.MM.yyyy</format>", "", "the format of column 'age'"),
        (
            "",
            "<microAggregationFunction>Mean</microAggregationFunction>",
            "",
            "microaggregation of column 'age'",
        ),
        ("", "<somethingNew>x</somethingNew>", "", "the somethingNew of column 'age'"),
        ("", "", "<quote>'</quote>", "the quote character"),
    ],
)
def test_every_setting_is_taken_over_or_named(
    tmp_path: Path, more: str, of_age: str, about: str, named: str
) -> None:
    lines = settings_of(tmp_path, more, of_age, about).splitlines()
    assert any("not taken over: " in line and named in line for line in lines), lines


def test_settings_without_effect_are_not_named(tmp_path: Path) -> None:
    more = "<suppressionString>*</suppressionString><practicalMonotonicity>false</practicalMonotonicity>"
    assert "the setting" not in settings_of(tmp_path, more)


def holds_in_arx(rows: list[tuple[str, str]], delta: float) -> bool:
    """δ-disclosure as ARX judges it: the logarithm to base 2, of the values that a class has."""
    everywhere = Counter(value for _, value in rows)
    for group in {key for key, _ in rows}:
        here = Counter(value for key, value in rows if key == group)
        for value, count in here.items():
            change = (count / here.total()) / (everywhere[value] / len(rows))
            if not abs(math.log2(change)) < delta:
                return False
    return True


@pytest.mark.parametrize("seed", range(20))
def test_an_imported_delta_means_what_it_meant(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    agreed = []
    for _ in range(10):
        rows = [("a", "x"), ("b", "y")]  # a column with one value for all is refused here
        rows += [(draw.choice("ab"), draw.choice("xxyz")) for _ in range(draw.randint(4, 30))]
        delta = draw.choice([0.25, 0.5, 0.7, 1.0, 1.4, 2.0])
        criterion = f"{delta}-disclosure privacy for attribute 'illness'"
        (spec,) = read_arx(project(tmp_path, criteria=(criterion,))).document["meet"]
        people = sf.read(pl.DataFrame(rows, schema=["age", "illness"], orient="row"))
        people = people.with_roles(quasi=["age"], sensitive=["illness"])
        (verdict,) = sf.judge(people, [registry.build("models", spec)])
        agreed.append(verdict.holds == holds_in_arx(rows, delta))
    assert all(agreed)
