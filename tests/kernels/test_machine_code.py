"""The cache of compiled loops: what another version left behind is no obstacle, and several
processes may share it.
"""

from __future__ import annotations

import errno
import pickle

import pytest
from numba.core.caching import IndexDataCacheFile
from numba.core.dispatcher import Dispatcher

from sfumato import kernels
from sfumato.kernels.loop_cache import Loop
from sfumato.kernels.machine_code import CacheFirst, ForgivingIndex


def _pickled_then_renamed() -> bytes:
    """The pickle of a class that is called otherwise by now."""
    return pickle.dumps((1.0, {"key": ForgivingIndex})).replace(
        b"ForgivingIndex", b"ForgivingXndeI"
    )


@pytest.mark.parametrize(
    "rest", [_pickled_then_renamed(), b"", b"\x80"], ids=["renamed", "cut off", "broken"]
)
def test_a_list_that_cannot_be_read_is_empty(tmp_path, rest):
    index = IndexDataCacheFile(str(tmp_path), "loop", 1.0)
    (tmp_path / "loop.nbi").write_bytes(pickle.dumps(index._version, protocol=-1) + rest)
    with pytest.raises((AttributeError, EOFError, pickle.UnpicklingError)):
        index._load_index()
    index.__class__ = ForgivingIndex
    assert index._load_index() == {}


def test_a_list_that_can_be_read_is_read(tmp_path):
    index = ForgivingIndex(str(tmp_path), "loop", 1.0)
    index._save_index({"key": "loop.1.nbc"})
    assert index._load_index() == {"key": "loop.1.nbc"}


def _saved_at_the_same_time(kind, folder, monkeypatch):
    """Two processes that read the list before either of them has written it; what is found under
    the types of each.
    """
    one, other = (kind(str(folder), "loop", 1.0) for _ in range(2))
    for process, types in ((one, "whole numbers"), (other, "fractions")):
        with monkeypatch.context() as patched:
            patched.setattr(process, "_load_index", dict)
            process.save(types, f"code for {types}")
    return {types: one.load(types) for types in ("whole numbers", "fractions")}


def test_no_process_finds_the_code_of_another(tmp_path, monkeypatch):
    found = _saved_at_the_same_time(ForgivingIndex, tmp_path, monkeypatch)
    assert found == {
        "whole numbers": None,
        "fractions": "code for fractions",
    }  # one is compiled again
    index = ForgivingIndex(str(tmp_path), "loop", 1.0)
    index.save("whole numbers", "code for whole numbers")
    assert all(index.load(types) == f"code for {types}" for types in found)
    assert (
        ForgivingIndex(str(tmp_path), "loop", 2.0).load("fractions") is None
    )  # the source has changed


def test_a_file_is_whole_before_it_is_listed(tmp_path, monkeypatch):
    index = ForgivingIndex(str(tmp_path), "loop", 1.0)
    monkeypatch.setattr(
        index,
        "_save_index",
        lambda overloads: pytest.fail(f"listed {len(overloads)} before it is kept"),
    )
    monkeypatch.setattr(
        index, "_save_data", lambda name, data: (_ for _ in ()).throw(OSError(28, "full"))
    )
    with pytest.raises(OSError, match="full"):
        index.save("fractions", "code")


@pytest.mark.parametrize("name", kernels.__all__)
def test_every_loop_has_this_cache_however_its_file_is_loaded(name):
    loops = [
        loop
        for loop in vars(getattr(kernels, name)).values()
        if isinstance(loop, Dispatcher | Loop)
    ]
    assert loops
    for loop in [loop.numba if isinstance(loop, Loop) else loop for loop in loops]:
        assert type(loop._cache) is CacheFirst and type(loop._cache._cache_file) is ForgivingIndex


def test_a_loop_runs_where_there_is_no_room_to_keep_it(tmp_path, monkeypatch):
    loop = Loop(_doubled, {"cache": True})

    def refuse(self, name, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(IndexDataCacheFile, "_save_data", refuse)
    monkeypatch.setattr(
        CacheFirst, "_load_overload", lambda self, sig, context: None
    )  # nothing is in the cache
    assert loop(21) == 42


def _doubled(number):
    return 2 * number
