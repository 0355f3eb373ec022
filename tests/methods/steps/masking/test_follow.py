"""Following: a column that says the same as a quasi-identifier is released through the
quasi-identifier's labels."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.step import Goal
from sfumato.errors import ParameterError, ReleaseRefused, SchemaError
from tests.release.test_implied import LOANS, loans, released


@pytest.mark.parametrize("step", ["local", "global"])
@pytest.mark.parametrize("lazy", [False, True])
def test_a_column_follows_the_labels_of_a_quasi_identifier(
    step: str, lazy: bool, tmp_path: Path
) -> None:
    people = loans()
    if lazy:
        LOANS.write_parquet(tmp_path / "loans.parquet")
        people = sf.read(pl.scan_parquet(tmp_path / "loans.parquet")).with_schema(people.schema)
    release = released(sf.Follow({"lines": "accounts"}), step=step, table=people)
    data = release.data.collect() if lazy else release.data
    assert (data["lines"].cast(pl.String) == data["accounts"].cast(pl.String)).all()
    release.write(tmp_path / "out")
    assert sf.verify(tmp_path / "out/share", original=people, owner=tmp_path / "out/owner").holds


def test_following_nothing_known_or_no_quasi_identifier_is_refused() -> None:
    people = loans()
    with pytest.raises(SchemaError, match="not a quasi-identifier"):
        sf.Follow({"lines": "rate"}).plan(people, Goal())
    with pytest.raises(SchemaError, match="only other columns"):
        sf.Follow({"age": "accounts"}).plan(people, Goal())
    with pytest.raises(ParameterError, match="must follow a quasi-identifier"):
        sf.Follow({"lines": "rate", "rate": "accounts"})


def test_following_before_the_recoding_does_not_help() -> None:
    with pytest.raises(ReleaseRefused, match=r"lines (nearly )?determines accounts"):
        sf.anonymize(
            loans(), sf.KAnonymity(5), [sf.Follow({"lines": "accounts"}), sf.Mondrian()], seed=1
        )
