"""What all tests share: where reference data may be, how hypothesis searches, where kernels are
cached.
"""

from __future__ import annotations

import atexit
import gc
import hashlib
import itertools
import os
import random
import secrets
import shutil
import signal
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from sfumato.core import randomness
from tests.clusters import postgresql  # noqa: F401 - a fixture

ROOT = Path(__file__).resolve().parents[1]

# All processes of a run share one cache of compiled loops, kept between runs: what one of them has
# compiled, the others load. This must happen before anything imports a kernel.
if os.environ.get("PYTEST_XDIST_WORKER"):
    os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".pytest_cache" / "kernels"))
    # The other cores are those of the other processes: `compare` would start more, which import
    # everything again.
    os.cpu_count = lambda: 1
    # Thousands of releases wait for a disk to have them, 5 ms each. No test takes the power away:
    # processes are killed, and what they wrote is there.
    os.fsync = os.fstat  # type: ignore[assignment]

# Registers remember in the user's folder how far they were seen. Secret draws are the same in every
# run, and so are the marks of
# registers: what an earlier run left there would make a new register look like an old copy. So
# every process has a folder of its own.
_STATE = tempfile.mkdtemp(prefix="sfumato-tests-")
atexit.register(shutil.rmtree, _STATE, ignore_errors=True)
os.environ["XDG_STATE_HOME"] = _STATE

# A shell that starts the tests in the background has them ignore Ctrl-C, and all their children
# too; here it is tested.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# `ci` and `quick` always try the same examples: a failure is the change's doing. `thorough` looks
# for new ones. Choose with HYPOTHESIS_PROFILE=thorough make test. Deadlines would measure the
# machine, not the code.
_shared = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("ci", derandomize=True, max_examples=35, print_blob=True, **_shared)
settings.register_profile("quick", derandomize=True, max_examples=15, **_shared)
settings.register_profile("thorough", max_examples=1000, print_blob=True, **_shared)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


_COLLECTIONS = gc.get_threshold()
gc.disable()  # until all tests are collected: nothing of that is garbage


# What starts a Java machine stays in one process: each takes 2 GB and its time to start.
SPARK = (
    "tests/golden/test_golden.py::test_the_files_are_as_stored[spark",
    "tests/data/lazy/test_on_spark.py",
)
# What takes longest comes first: at the end, no process waits for another.
LONG = (
    *SPARK,
    "tests/test_annexes.py",
    "tests/interfaces/web/pages/test_partial_redraw.py",
    "tests/interfaces/web/test_whole_walk.py",
    "tests/test_docs.py",
    "tests/data/lazy/test_planning.py",
    "tests/release/report/test_browser.py",
    "tests/guidance/recommendation/test_recommend.py",
    "tests/methods/attacks/linkage/test_learned_linkage.py",
    "tests/results/tables/test_many_tables.py",
    "tests/golden/test_golden.py",
)
# Tests of a file share what they made, and run in one process; tests of these files share nothing.
SPREAD = (
    "tests/test_docs.py",
    "tests/results/tables/test_many_tables.py",
    "tests/golden/test_golden.py",
)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Examples in docstrings are those of the package; in tests, nobody looks for any."""
    found = yield
    return [one for one in found if type(one).__name__ != "DoctestModule"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put first what takes longest."""
    items.sort(key=rank_of)


def rank_of(item: pytest.Item) -> int:
    """Return the place of a test in LONG; those that are not there come last."""
    for rank, start in enumerate(LONG):
        if item.nodeid.startswith(start):
            return rank
    return len(LONG)


def scope_of(nodeid: str) -> str:
    """Name the tests that run in one process together with this one: mostly those of its file."""
    if nodeid.startswith(SPARK):
        return "spark"
    file = nodeid.partition("::")[0]
    if file in SPREAD:
        return nodeid
    return file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``--dist loadfile``, processes get one scope after the other, in the order of
    collection.
    """
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ScopeScheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid)

    config.option.loadscopereorder = False
    return ScopeScheduling(config, log)


def pytest_collection_finish() -> None:
    """All that was imported stays for good: a search for garbage that looks through it takes longer
    than many a test.
    """
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_runtest_teardown() -> None:
    """The command line, called inside of this process, lets garbage lie for the rest of it; tests
    go on for long.
    """
    gc.set_threshold(*_COLLECTIONS)


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """The folder of tables and results of other tools that we compare with; the test is skipped
    where it is absent.

    They are too large for the repository: SFUMATO_REFERENCE_DATA names their folder, by default
    ``shared/data`` beside the repository.
    """
    given = os.environ.get("SFUMATO_REFERENCE_DATA")
    folder = Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("reference data is not here; SFUMATO_REFERENCE_DATA can name its folder")
    return folder


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let chance be the same in every run: seeds that a release without one draws, and secret
    noise, keys and tokens.

    Processes that a test starts draw their own.
    """
    numbers = itertools.count()

    def fresh_seed() -> randomness.Seed:
        text = f"{item.nodeid} {next(numbers)}"
        digest = hashlib.sha256(text.encode()).digest()
        bits = randomness.SEED_BITS
        value = int.from_bytes(digest, "big") % (1 << (bits - 1))
        return randomness.Seed(value | 1 << (bits - 1))

    randomness.Seed.fresh = staticmethod(fresh_seed)
    # `randbelow` and all tokens of the module come from this generator
    secrets._sysrand = random.Random(item.nodeid)  # type: ignore[attr-defined]
