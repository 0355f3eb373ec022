"""Draws of people: who they are, where they live, what they do and what they suffer from."""

from __future__ import annotations

import re

import polars as pl

from sfumato.data.examples.people import check_digit
from tests.data.examples.test_hospital_tables import admissions  # noqa: F401 - a fixture


def test_insurance_numbers_are_unique_and_carry_a_check_digit(admissions: pl.DataFrame) -> None:  # noqa: F811
    numbers = admissions["insurance_number"].to_list()
    assert len(set(numbers)) == 3000
    assert all(re.fullmatch(r"SF\d{10}", n) and check_digit(n[2:-1]) == int(n[-1]) for n in numbers)
