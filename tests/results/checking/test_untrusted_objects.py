"""Reading objects of other people's classes without trusting them: an attribute may be missing,
raise, or hold anything."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import sfumato as sf


class Raising:
    """An object whose every attribute raises."""

    def __getattr__(self, name):
        raise RuntimeError("no")

    def __array__(self, *args, **kwargs):
        raise RuntimeError("no")

    def __bool__(self):
        raise RuntimeError("no")


class Half:
    """A model whose inside cannot be had."""

    params = np.array([1.0, 2.0])
    nobs = 500

    @property
    def model(self):
        raise MemoryError("too large")

    @property
    def df_resid(self):
        raise ValueError("not fitted")


HOSTILE = {
    "raising": Raising,
    "half": Half,
    "strange": lambda: SimpleNamespace(params="none", nobs="many", df_resid=object()),
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_objects_are_for_review(make):
    output = make()
    assert sf.check_output(output).status == "review"
    assert sf.check_output(output, pl.DataFrame({"x": [1.0, 2.0]})).status in ("review", "fail")
