"""The cache of compiled loops: what another version left behind is no obstacle."""

from __future__ import annotations

import pickle

import pytest
from numba.core.caching import IndexDataCacheFile

from sfumato.kernels.loading import ForgivingIndex


def _pickled_then_renamed() -> bytes:
    """The pickle of a class that is called otherwise by now."""
    return pickle.dumps((1.0, {"key": ForgivingIndex})).replace(b"ForgivingIndex", b"ForgivingXndeI")


@pytest.mark.parametrize("rest", [_pickled_then_renamed(), b"", b"\x80"], ids=["renamed", "cut off", "broken"])
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
