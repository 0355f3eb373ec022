"""All parties in one process: to try a question before it is asked for real, and to test."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import SchemaError
from sfumato.parties.one_process import together
from tests.parties.test_control import MEAN, tables


@pytest.mark.parametrize("protocol", ["additive", "shamir"])
@pytest.mark.parametrize("odd", [{"y": [1.0]}, {"x": [[1.0], [2.0]]}])
def test_an_error_of_one_party_ends_the_meeting_for_all(protocol, odd):
    people = [*tables([1.0] * 9, [2.0] * 9), sf.read(pl.DataFrame(odd))]
    with pytest.raises(SchemaError, match="'x'"):
        together(people, MEAN, protocol=protocol)
