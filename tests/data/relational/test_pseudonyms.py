"""Pseudonyms for keys: one a key, the same in every table, and no number of the input in them."""

from __future__ import annotations

import polars as pl

from sfumato.data.relational.pseudonyms import are_pseudonyms
from tests.release.test_manifest import (
    changed,
    release,  # noqa: F401 - a fixture
    share,  # noqa: F401 - a fixture
)
from tests.release.test_person_checks import failing, sealed_again


def test_keys_that_are_no_pseudonyms(share):  # noqa: F811
    def edit(said):
        names = dict(
            zip(
                pl.read_csv(share / "people.csv")["person_id"],
                (f"P{i}" for i in range(999)),
                strict=False,
            )
        )
        for table in ("people", "visits"):
            changed(
                share,
                said,
                table,
                lambda frame: frame.with_columns(pl.col("person_id").replace_strict(names)),
            )

    sealed_again(share, edit)
    assert list(failing(share)) == ["keys are pseudonyms"]
    assert not are_pseudonyms(pl.Series(["b" * 15]))
