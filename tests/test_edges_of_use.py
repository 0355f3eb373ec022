"""What users meet at the edges: large numbers, plain terminals, lists in cells, a strict umask,
names of rooms.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import OutputError, ParameterError, SchemaError

STORED = Path(__file__).parent / "release" / "stored"


def run(*words, **environment):
    command = [sys.executable, "-m", "sfumato", *map(str, words)]
    return subprocess.run(
        command, capture_output=True, timeout=300, check=False, env={**os.environ, **environment}
    )


@pytest.mark.parametrize("digits", [17, 40, 400])
def test_a_number_that_no_table_reaches_is_refused(digits):
    with pytest.raises(ParameterError, match="k should be at most"):
        sf.KAnonymity(int("9" * digits))


def test_it_is_wrong_usage_at_the_command_line(tmp_path):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        f"sfumato: 1\ncolumns: {{age: quasi}}\nmeet: [{{k_anonymity: {{k: {'1' * 40}}}}}]\nsteps:"
        " [global_recoding]\n"
    )
    (tmp_path / "t.csv").write_text("age\n1\n2\n")
    done = run("run", tmp_path / "t.csv", "-r", recipe, "-o", tmp_path / "out")
    assert done.returncode == 2 and b"bug" not in done.stderr and not (tmp_path / "out").exists()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_terminals_without_our_signs(tmp_path, encoding):
    words = (
        "run",
        STORED / "table.csv",
        "-r",
        STORED / "recipe_1.yaml",
        "-o",
        tmp_path / "out",
        "--seed",
        "1",
    )
    done = run(*words, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert done.returncode == 0 and "[ok]" in done.stdout.decode(encoding), done.stderr
    told = run("verify", tmp_path / "out", PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert told.returncode in (0, 7) and "[ok] certificate unedited" in told.stdout.decode(encoding)
    plain = run("verify", tmp_path / "out", "--json", PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert json.loads(plain.stdout.decode(encoding)) == json.loads(
        run("verify", tmp_path / "out", "--json").stdout
    )


def test_a_recipe_on_stdout_is_utf_8_whatever_the_terminal(tmp_path):
    file = tmp_path / "people.csv"
    pl.DataFrame({"größe": [1.7, 1.8] * 20, "stadt": ["Köln", "Ulm"] * 20}).write_csv(file)
    plain, ascii_only = (
        run("profile", file),
        run("profile", file, PYTHONIOENCODING="ascii", PYTHONUTF8="0"),
    )
    assert plain.returncode == ascii_only.returncode == 0
    assert ascii_only.stdout == plain.stdout and "größe" in ascii_only.stdout.decode("utf-8")


NESTED = {
    "lists": pl.Series("odd", [["a"], ["b", "c"]] * 5),
    "structs": pl.Series("odd", [{"x": 1}, {"x": 2}] * 5),
    "objects": pl.Series("odd", [object() for _ in range(10)], dtype=pl.Object),
}


@pytest.mark.parametrize("kind", NESTED)
@pytest.mark.parametrize("role", ["keep", "sensitive", "quasi", "drop"])
def test_a_column_with_several_values_a_cell_is_refused_by_name(kind, role):
    frame = pl.DataFrame({"age": [1] * 10}).with_columns(NESTED[kind])
    roles = {
        "quasi": ["age"],
        **({role: ["odd"]} if role != "quasi" else {"quasi": ["age", "odd"]}),
    }
    with pytest.raises(SchemaError, match="column 'odd' holds lists or objects"):
        sf.anonymize(sf.read(frame).with_roles(**roles), [sf.KAnonymity(2)], [sf.GlobalRecoding()])


def test_bytes_go_into_formats_that_hold_them(tmp_path):
    frame = pl.DataFrame({"age": [1] * 4, "shape": [b"\x00\xff", b"b"] * 2})
    people = sf.read(frame).with_roles(quasi=["age"], keep=["shape"])
    with pytest.raises(OutputError, match="bytes"):
        sf.anonymize(people, [sf.KAnonymity(2)], [sf.GlobalRecoding()])
    folder = sf.anonymize(
        people,
        [sf.KAnonymity(2)],
        [sf.GlobalRecoding()],
        options=sf.AnonymizeOptions(format="parquet"),
    ).write(tmp_path / "out", format="parquet")
    assert sf.verify(folder / "share", original=people, owner=folder / "owner").holds


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
@pytest.mark.parametrize(("mask", "mode"), [(0o077, 0o700), (0o022, 0o755), (0o027, 0o750)])
def test_the_folder_is_as_open_as_the_umask_says(tmp_path, mask, mode):
    release = sf.anonymize(
        sf.examples.hospital(rows=100), [sf.KAnonymity(2)], [sf.GlobalRecoding(budget=0.5)], seed=1
    )
    before = os.umask(mask)
    try:
        folder = release.write(tmp_path / "out")
    finally:
        os.umask(before)
    assert (
        stat.S_IMODE(folder.stat().st_mode) == mode
        and stat.S_IMODE((folder / "share").stat().st_mode) == mode
    )
    assert stat.S_IMODE((folder / "owner").stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "name",
    [
        "baskets.KmAnonymity",
        "paths.TimeShift",
        "graphs.KDegree",
        "relations.CapRows",
        "dp",
        "vault",
    ],
)
def test_rooms_are_there_in_a_fresh_interpreter(name):
    done = subprocess.run(
        [sys.executable, "-c", f"import sfumato as sf; sf.{name}"],
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
