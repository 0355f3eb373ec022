"""Parts that can be left out: the package works without any one of them, and says what is not
installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core.caching import _CacheLocator

import sfumato

ROOT = Path(__file__).resolve().parents[1]
ANNEXES = {
    "parties": "together",
    "results/checking": "check_output",
    "data/baskets": "baskets",
    "data/paths": "paths",
    "data/graphs": "graphs",
    "data/relational": "relations",
    "policy": "Policy",
    "interfaces/web": None,
}
"""Folder of each part, and a public name that is missing without it; None: no name is."""
COMMANDS = {
    "parties": ("key", "party", "--name", "anna", "-o", "keys"),
    "policy": ("policy", "lint", "policy.json"),
    "interfaces/web": ("serve", "--no-browser"),
}
"""A command that cannot do its work without a part."""
CASES = {
    "data/baskets": "baskets: suppressed items, rho",
    "data/paths": "paths: time shift",
    "data/graphs": "graph: degrees with deletions",
    "data/relational": "tables: coarse counts",
}
"""A golden release of each kind of data besides tables."""
SHAPES = {
    "data/baskets": "baskets",
    "data/paths": "paths",
    "data/graphs": "graph",
    "data/relational": "tables",
}
"""The shape of data that a recipe cannot be about without a part."""
RECIPES = {
    "baskets": (
        "shape: baskets\ncolumns: {who: person, what: item}\nmeet: [{km_anonymity: {k: 2, m: 2}}]\n"
    ),
    "paths": (
        "shape: paths\ncolumns: {who: person, when: time, where: place}\nmeet: [{km_anonymity: {k: 2,"
        " m: 2}}]\n"
    ),
    "graph": "shape: graph\ncolumns: {a: from, b: to}\nmeet: [{k_degree: {k: 2}}]\n",
    "tables": (
        "tables: {people: {key: id, columns: {age: quasi}}}\nmeet: [{persons_k_anonymity: {k:"
        " 2}}]\n"
    ),
}
RUN = """
import sys, tempfile
from pathlib import Path
import sfumato
from sfumato.core import registry
from sfumato.errors import NotInstalled
from sfumato.interfaces.cli import main
from tests.golden.case import digests_of, run_case
from tests.golden.cases import CASES, read_digests

assert Path(sfumato.__file__).is_relative_to({copy!r}), sfumato.__file__
if {name!r} is not None:
    try:
        getattr(sfumato, {name!r})
    except NotInstalled as error:
        assert "is not installed" in str(error)
    else:
        raise AssertionError("{name} is still there")

for shape in {shapes!r}:
    try:
        registry.data_class(shape)
    except NotInstalled as error:
        assert "is not installed" in str(error)
    else:
        raise AssertionError("the class of " + shape + " is still there")
    assert shape not in registry.installed_shapes()

def called(*words):
    sys.argv = ["sfumato", *words]
    try:
        main()
    except SystemExit as stop:
        return stop.code

# What is refused may depend on the seed of a release; here it is the same in every run.
from sfumato.core import randomness
randomness.Seed.fresh = staticmethod(lambda: randomness.Seed.of(1))

assert called("--help") == 0
assert called("demo", "-o", {out!r}, "-q") == 0
if {part!r} != "interfaces/web":
    from sfumato.interfaces.web.data_process import Bench, task_function
    from sfumato.interfaces.web.pages.stages import all_stages
    names = [stage.import_module() and stage.name for stage in all_stages()]
    assert ("Policies" in names) == ({part!r} != "policy"), names
    bench = Bench()
    task_function("open_data")(bench, print, path=None, example="hospital", options={{}})
    recipe = task_function("propose")(bench, print)["recipe"]
    assert task_function("make")(bench, print, recipe=recipe, key="1")["made"] is not None
stored = read_digests()
for name in {cases!r}:
    with tempfile.TemporaryDirectory() as folder:
        assert digests_of(run_case(CASES[name], Path(folder))) == stored[name], name
"""


def _share_machine_code(copy: Path, cache: Path) -> None:
    """Let loops of a copy of the package find the machine code of the original, which is minutes of
    work.

    numba keeps the code of a folder in a folder that is named by its path, and looks whether the
    source has another date or size: those of the copy are the same.
    """
    folder = os.environ.get("NUMBA_CACHE_DIR")
    if folder is None:
        return
    names = []
    for package in (Path(sfumato.__file__).parent, copy / "sfumato"):
        source = package / "kernels" / "keys.py"
        assert source.is_file()
        names.append(_CacheLocator.get_suitable_cache_subpath(str(source)))
    original, copied = names
    (Path(folder) / original).mkdir(parents=True, exist_ok=True)
    cache.mkdir()
    (cache / copied).symlink_to(Path(folder) / original, target_is_directory=True)


def _run(copy: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A process that finds the copy of the package before the one that is installed."""
    paths = os.pathsep.join([str(copy), str(ROOT)])
    return subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(copy.parent / "cache")},
        cwd=copy,
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )


@pytest.mark.slow
def test_the_package_works_without_any_one_of_its_parts(tmp_path):
    """All in one copy, so that loops are compiled once: each part in turn is taken away and put
    back.
    """
    copy = tmp_path / "src"
    shutil.copytree(Path(sfumato.__file__).parent, copy / "sfumato")
    _share_machine_code(copy, tmp_path / "cache")
    for annex, name in ANNEXES.items():
        (copy / "sfumato" / annex).rename(tmp_path / "aside")
        cases = ["sample", *(case for other, case in CASES.items() if other != annex)]
        out = tmp_path / f"demo without {annex.replace('/', ' ')}"
        shapes = [shape for part, shape in SHAPES.items() if part == annex]
        done = _run(
            copy,
            "-c",
            RUN.format(
                copy=str(copy), name=name, out=str(out), cases=cases, shapes=shapes, part=annex
            ),
        )
        assert done.returncode == 0, f"without {annex}: {done.stdout[-1000:]}{done.stderr[-3000:]}"
        for shape in shapes:
            recipe = tmp_path / f"{shape}.yaml"
            recipe.write_text(RECIPES[shape], encoding="utf-8")
            refused = _run(
                copy,
                "-m",
                "sfumato",
                "run",
                "nothing.csv",
                "-r",
                str(recipe),
                "-o",
                str(tmp_path / "never"),
            )
            assert refused.returncode == 2, refused.stderr
            assert "is not installed" in " ".join(refused.stderr.split())
        if annex in COMMANDS:
            refused = _run(copy, "-m", "sfumato", *COMMANDS[annex])
            assert refused.returncode == 2, refused.stderr
            message = f"sfumato.{annex.replace('/', '.')} is not installed"
            assert message in " ".join(refused.stderr.split())
        (tmp_path / "aside").rename(copy / "sfumato" / annex)
