"""Identifiers recognised by their check digits: national ids, bank accounts, payment cards, phones."""

from __future__ import annotations

from sfumato.guidance.profiling.check_digits import checked_numbers, valid_share
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
