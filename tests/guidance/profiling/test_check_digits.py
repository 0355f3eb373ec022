"""Identifiers recognised by their check digits: national ids, bank accounts, payment cards, phones."""

from __future__ import annotations

import polars as pl
import pytest

from sfumato.guidance.profiling import check_digits
from sfumato.guidance.profiling.check_digits import checked_numbers, find_number, valid_share
from sfumato.guidance.profiling.detection import sample_of
from tests.guidance.profiling.test_identifiers import digits


def test_every_validator_can_be_called_on_anything():
    noise = ["", "x", "12", "0" * 20, "ÄÖÜ", "9" * 11, "12-34", "é" * 16]
    for number in checked_numbers():
        from sfumato.guidance.profiling.check_digits import _validator

        assert {_validator(number.module)(text) for text in noise} <= {True, False}


def test_a_validator_that_accepts_most_numbers_proves_nothing():
    texts = [digits(9) for _ in range(100)]
    assert valid_share(lambda text: text[0] != "0" or True, texts) == 0.0
    # one in ten random numbers ends in 7: ninety of them do not come about by chance, four of them
    # may
    sevens = [digits(8) + "7" for _ in range(90)]
    assert valid_share(lambda text: text.endswith("7"), sevens) == 1.0
    assert valid_share(lambda text: text.endswith("7"), sevens[:4]) == 0.0


@pytest.fixture(params=["with numbering plans", "without"])
def plans(request, monkeypatch):
    """Both ways to recognise phone numbers: by the plans of an extra, and by how they are written."""
    if request.param == "without":
        monkeypatch.setattr(check_digits, "_numbering_plans", lambda: None)


def kind_of(texts):
    found = find_number(sample_of(pl.Series(texts)), whole=False)
    return found and found.concept


@pytest.mark.usefixtures("plans")
def test_phone_numbers_are_recognised_with_and_without_the_extra():
    assert kind_of([f"+49 30 9018{i:05d}" for i in range(100, 160)]) == "phone number"
    assert kind_of([f"0049 30 9018{i:05d}" for i in range(100, 160)]) == "phone number"
    assert kind_of([f"(020) 7946 0{i:03d}" for i in range(100, 160)]) == "phone number"


@pytest.mark.usefixtures("plans")
def test_codes_and_dates_are_no_phone_numbers():
    assert kind_of([f"{i:09d}" for i in range(1000, 1100)]) is None
    assert kind_of([f"19{i % 80 + 10}-0{i % 9 + 1}-1{i % 9}" for i in range(100)]) is None
    assert kind_of([f"0{i % 9}/0{i % 7 + 1}/19{i % 80 + 10}" for i in range(100)]) is None
    assert kind_of([f"KL-{i:07d}" for i in range(100)]) is None
