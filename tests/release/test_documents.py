"""Nothing that is shared tells a value, a seed or a row: the folder is searched for all of them."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest

import sfumato as sf
from sfumato import examples
from sfumato.core.schema import Role

SEED = "0123456789abcdef0123456789abcdef"
SHORTEST = 4
"""Shorter values (``7``, ``no``) occur in any page by chance."""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    people = examples.hospital(400)
    step = sf.GlobalRecoding(budget=0.1)
    release = sf.anonymize(people, [sf.KAnonymity(4)], [step], seed=SEED)
    release = release.attacked(
        seconds=5, sample=60, only=("linkage", "homogeneity", "singling_out")
    )
    folder = tmp_path_factory.mktemp("out") / "release"
    release.write(folder, options=sf.WriteOptions(pictures=True))
    return people, release, folder


def shared_texts(folder):
    share = folder / "share"
    return {
        f.name: f.read_text(encoding="utf-8")
        for f in share.rglob("*")
        if f.suffix in {".json", ".html", ".txt"}
    }


@pytest.mark.slow
def test_there_is_something_to_search(written):
    assert set(shared_texts(written[2])) == {"certificate.json", "report.html", "descriptions.txt"}


@pytest.mark.parametrize("role", ["drop", "quasi", "sensitive"])
def test_no_value_of_the_original_is_told(written, role):
    """Not even values that the released file itself holds: pages are shown to more people than
    data.
    """
    people, _, folder = written
    for name, text in shared_texts(folder).items():
        words = set(re.findall(r"[^\s\"'<>,;:()]+", text))
        for column in people.named(Role(role)):
            values = {str(v) for v in people.column(column).drop_nulls().to_list()}
            told = [
                v for v in values if len(v) >= SHORTEST and (v in words or (" " in v and v in text))
            ]
            assert not told, f"{name} tells {len(told)} values of {column}"


def test_the_search_finds_what_is_there(written):
    """The owner's report does name bins, so the same search must find values in it."""
    people, _, folder = written
    text = (folder / "owner" / "report.html").read_text(encoding="utf-8")
    values = {str(v) for v in people.column("diagnosis").drop_nulls().to_list()}
    assert [v for v in values if v in text]


def test_no_seed_salt_or_digest_of_the_input(written):
    _, release, folder = written
    lock = json.loads((folder / "owner" / "lock.json").read_text(encoding="utf-8"))
    for name, text in shared_texts(folder).items():
        for secret in (SEED, release.seed.text, lock["salt"], lock["input_sha256"]):
            assert secret not in text, name


def test_no_row_numbers(written):
    """The alignment stays with the owner; of the victims only their number is told."""
    _, release, folder = written
    certificate = json.loads((folder / "share" / "certificate.json").read_text(encoding="utf-8"))
    assert not list((folder / "share").rglob("*.parquet"))

    def lists(node):
        if isinstance(node, dict):
            for value in node.values():
                yield from lists(value)
        elif isinstance(node, list):
            yield node
            for value in node:
                yield from lists(value)

    pairs = len(certificate["story"]["maps"]["columns"])
    for found in lists(certificate):
        numbers = [v for v in found if isinstance(v, int | float) and not isinstance(v, bool)]
        assert len(numbers) <= max(10, pairs * (pairs - 1) // 2)
    told = [t["victims"] for t in certificate["attacks"]["tried"]]
    assert all(v is None or isinstance(v, int) for v in told)
    assert len(release.released) > 200


@pytest.mark.slow
def test_pictures_are_written_on_request_for_each_reader(written, tmp_path):
    _, release, folder = written
    public = {f.name for f in (folder / "share" / "pictures").iterdir()}
    owner = {f.name for f in (folder / "owner" / "pictures").iterdir()}
    assert public == {
        "class_sizes.png",
        "attacks.png",
        "levels.png",
        "two_way_tables.png",
        "suppressed_cells.png",
        "descriptions.txt",
    }
    assert (
        public < owner
        and {"risks.png", "associations.png", "alternatives.png", "column_01_age.png"} < owner
    )
    for file in (folder / "share" / "pictures").glob("*.png"):
        head = file.read_bytes()[:24]
        assert head.startswith(b"\x89PNG") and int.from_bytes(head[16:20], "big") > 200
    release.write(tmp_path / "without")
    assert not list((tmp_path / "without").rglob("*.png"))


@pytest.mark.slow
def test_a_picture_that_cannot_be_drawn_leaves_nothing_behind(written, tmp_path, monkeypatch):
    from sfumato.release import sealing

    def broken(chart):
        raise RuntimeError("no fonts")

    monkeypatch.setattr(sealing, "chart_png", broken)
    with pytest.raises(RuntimeError, match="no fonts"):
        written[1].write(tmp_path / "out", options=sf.WriteOptions(pictures=True))
    assert list(tmp_path.iterdir()) == []


def test_the_folder_still_verifies(written):
    assert all(claim.status != "fails" for claim in sf.verify(written[2] / "share").claims)


@pytest.mark.slow
def test_names_of_files_are_safe_whatever_columns_are_called(tmp_path):
    name = "../../etc/<passwd>\u202e"
    frame = pl.DataFrame({name: ["a", "b"] * 10, "…": ["x"] * 20})
    dataset = (
        sf.read(frame)
        .with_roles(quasi=[name], keep=["…"])
        .with_hierarchies(**{name: sf.suppress()})
    )
    release = sf.anonymize(dataset, [sf.KAnonymity(2)], [sf.GlobalRecoding()], seed=1)
    release.write(tmp_path / "out", options=sf.WriteOptions(pictures=True))
    files = [f.name for f in (tmp_path / "out" / "owner" / "pictures").iterdir()]
    assert {"column_01_etc_passwd_u202e.png", "column_02_column.png"} <= set(files)
    assert {f.name for f in tmp_path.iterdir()} == {"out"}


@pytest.mark.slow
def test_pictures_from_the_command_line(tmp_path, monkeypatch):
    from sfumato.interfaces.cli import main

    (tmp_path / "t.csv").write_text("sex,town\n" + "m,Ulm\nf,Bonn\n" * 10, encoding="utf-8")
    recipe = "sfumato: 1\ncolumns:\n  sex: {role: quasi, hierarchy: {suppress: {}}}\n  town: {role: keep}\n"
    recipe += "meet:\n  - k_anonymity: 2\nsteps:\n  - global_recoding\n"
    (tmp_path / "t.yaml").write_text(recipe, encoding="utf-8")
    given = [
        "run",
        str(tmp_path / "t.csv"),
        "-r",
        str(tmp_path / "t.yaml"),
        "-o",
        str(tmp_path / "out"),
        "-q",
    ]
    monkeypatch.setattr("sys.argv", ["sfumato", *given, "--pictures"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code in (0, None)
    assert (tmp_path / "out" / "share" / "pictures" / "class_sizes.png").is_file()
    assert (tmp_path / "out" / "owner" / "pictures" / "column_02_town.png").is_file()
