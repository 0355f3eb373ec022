from __future__ import annotations

import importlib
import random
import uuid

import polars as pl
import pytest

from sfumato.guidance.profiling.detection import sample_of
from sfumato.guidance.profiling.identifiers import detect_identifier

DRAW = random.Random(11)


def digits(count: int) -> str:
    return "".join(str(DRAW.randrange(10)) for _ in range(count))


def valid_numbers(module: str, length: int, count: int = 15) -> list[str]:
    """Random digits until the validator accepts them: no number of a person, all with right check
    digits.
    """
    is_valid = importlib.import_module(f"stdnum.{module}").is_valid
    found = (text for text in iter(lambda: digits(length), None) if is_valid(text))
    return [next(found) for _ in range(count)]


def luhn(prefix: str, length: int) -> str:
    from stdnum.luhn import calc_check_digit

    body = prefix + digits(length - len(prefix) - 1)
    return body + calc_check_digit(body)


def ibans(count: int = 15) -> list[str]:
    """German IBANs: check digits are 98 - (account, country as numbers, 00) mod 97 (ISO 13616)."""
    accounts = [digits(18) for _ in range(count)]
    return [f"DE{98 - int(account + '131400') % 97:02d}{account}" for account in accounts]


def spanish_ids(count: int = 15) -> list[str]:
    """DNI: the letter is the number modulo 23 in a fixed list."""
    numbers = [digits(8) for _ in range(count)]
    return [n + "TRWAGMYFPDXBNJZSQVHLCKE"[int(n) % 23] for n in numbers]


VALUES = {
    "e-mail address": [f"person{i}@example.org" for i in range(30)],
    "web address": [f"https://example.org/people/{i}" for i in range(30)],
    "ip address": [f"10.{i}.{i + 1}.7" for i in range(30)],
    "bank account": ibans(),
    "payment card": [luhn("4", 16) for _ in range(15)],
    "device id": [luhn("35", 15) for _ in range(15)],
    "record id": [str(uuid.UUID(int=DRAW.getrandbits(128))) for _ in range(15)],
    "phone number": [f"+49 30 9018{i:05d}" for i in range(100, 130)],
    "exact location": [f"52.{i:04d}, 13.{i:04d}" for i in range(1000, 1030)],
    "pseudonym or hash": [f"{DRAW.getrandbits(256):064x}" for _ in range(30)],
    "licence plate": [f"B-XY {i}" for i in range(100, 130)],
}


@pytest.mark.parametrize("what", VALUES)
def test_values_are_recognised_whatever_the_column_is_called(what):
    found = detect_identifier("column7", pl.Series(VALUES[what]))
    assert found is not None
    assert found.concept == what
    assert found.confidence >= 0.5


@pytest.mark.parametrize(
    ("module", "length"),
    [
        ("nl.bsn", 9),
        ("ca.sin", 9),
        ("gb.nhs", 10),
        ("br.cpf", 11),
        ("de.idnr", 11),
        ("pl.pesel", 11),
        ("no.fodselsnummer", 11),
    ],
)
def test_national_ids_are_recognised_by_their_check_digits(module, length):
    found = detect_identifier("column7", pl.Series(valid_numbers(module, length)))
    assert found is not None
    assert found.concept == "national id number"
    assert found.reason.startswith("100 % of the values have the check digits of an id number")


def test_ids_with_letters_and_ids_that_lost_their_zeros():
    assert detect_identifier("x", pl.Series(spanish_ids())).concept == "national id number"
    as_numbers = [int(text) for text in valid_numbers("nl.bsn", 9, 60)]
    assert min(as_numbers) < 10**8  # some began with a zero
    assert detect_identifier("x", pl.Series(as_numbers)).concept == "national id number"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("age", [*range(18, 90)]),
        ("x", [*range(18, 90)] * 3),
        ("x", [f"{d:02d}.{m:02d}.1985" for d in range(1, 29) for m in range(1, 13)]),
        ("x", [f"1985-{m:02d}-{d:02d}" for d in range(1, 29) for m in range(1, 13)]),
        ("x", [f"{DRAW.random():.4f}" for _ in range(100)]),
        ("x", [DRAW.random() for _ in range(100)]),
        ("income", [DRAW.randrange(20000, 90000) for _ in range(100)]),
        ("x", [True, False] * 20),
        ("email", ["yes", "no"] * 20),
        ("email_verified", ["yes", "no", "unknown"] * 20),
        ("has_phone", [0, 1, 1, 0] * 10),
        ("phone_type", ["mobile", "home", "work", "other"] * 10),
        ("mobile", ["make one", "make two", "make three"] * 10),
        ("company_name", ["First Ltd", "Second Ltd", "Third Ltd"] * 10),
        ("product_name", [f"Product {i}" for i in range(15)] * 4),
        ("city_name", [f"Town {chr(65 + i)}" for i in range(20)]),
        ("product_id", [1, 2, 3, 4, 5] * 10),
        ("nombre_enfants", [0, 1, 2, 3] * 10),
        ("sin", [DRAW.random() for _ in range(50)]),
        ("version", ["1.2", "1.3", "2.0"] * 10),
        ("paid", [10, 20, 30, 40] * 10),
        ("religion", ["Christian", "Muslim", "none", "other"] * 10),
        (
            "state",
            [
                "Virginia",
                "Georgia",
                "Carolina",
                "Dakota",
                "Washington",
                "Montana",
                "Florida",
                "Texas",
            ]
            * 5,
        ),
        ("key", [1, 2, 3] * 20),
    ],
)
def test_what_is_not_an_identifier(name, values):
    assert detect_identifier(name, pl.Series(values)) is None


@pytest.mark.parametrize(
    ("name", "values", "what"),
    [
        ("name", [f"Somebody {i}" for i in range(30)], "person name"),
        ("patient_name", ["A B", "C D", "E F"] * 10, "person name"),
        ("Kundennummer", [*range(1000, 1030)], "person id"),
        ("id", [*range(30)], "record id"),
        ("mrn", [f"M{i:05d}" for i in range(30)], "medical record number"),
        ("Fallnummer", [*range(5000, 5030)], "case or file number"),
        ("Kennzeichen", [f"B{i}" for i in range(30)], "licence plate"),
        ("device_id", [f"dev{i}" for i in range(30)], "device id"),
        ("iban", ["DE1", "DE2", "DE3"], "bank account"),
        ("street", ["Main Street", "High Street", "Mill Lane"], "postal address"),
        ("Hausnummer", [1, 2, 3, 12, 7], "house number"),
        ("BSN", ["100000001", "100000002", "100000003"], "national id number"),
    ],
)
def test_names_alone_are_enough_where_the_values_do_not_object(name, values, what):
    assert detect_identifier(name, pl.Series(values)).concept == what


def test_a_name_with_no_values_is_still_a_name():
    assert detect_identifier("email", pl.Series([], dtype=pl.String)).concept == "e-mail address"
    assert detect_identifier("email", pl.Series([None, None])).concept == "e-mail address"
    assert detect_identifier("x", pl.Series([None, None])) is None


def test_name_and_values_together_are_surer_than_each():
    values = pl.Series(VALUES["payment card"])
    by_value = detect_identifier("x", values)
    both = detect_identifier("credit_card", values)
    by_name = detect_identifier("credit_card", pl.Series(["1", "2", "3"]))
    assert both.confidence > max(by_value.confidence, by_name.confidence)


def test_given_names_in_many_rows_make_a_column_of_people():
    given = [
        "Mary",
        "James",
        "Linda",
        "Peter",
        "Anna",
        "Hans",
        "Sophie",
        "Pedro",
        "Giulia",
        "Jan",
        "Agnieszka",
        "Lars",
    ]
    names = pl.Series([f"{first} {last}" for first in given for last in ("Aaa", "Bbb", "Ccc")])
    assert detect_identifier("x", names).concept == "person name"
    assert (
        detect_identifier("city", names) is None
    )  # the name of the column overrules a look that can deceive


def test_a_few_mail_addresses_inside_other_text_are_enough():
    texts = [f"note {i}" for i in range(98)] + ["write to a@example.org", "ask b@example.org"]
    found = detect_identifier("x", pl.Series(texts))
    assert found.concept == "free text"
    assert found.reason == "2 % of the values contain an e-mail address"


def test_long_sentences_are_free_text_and_few_long_labels_are_not():
    sentence = "the patient was seen on ward {} and complained about number {}"
    assert (
        detect_identifier("x", pl.Series([sentence.format(i, -i) for i in range(50)])).concept
        == "free text"
    )
    labels = [
        "some college but no degree at all",
        "finished the upper level of secondary school",
    ] * 50
    assert (
        detect_identifier("x", pl.Series([*labels, "no schooling whatsoever in any country"]))
        is None
    )


def test_codes_that_differ_in_every_row_number_the_records():
    assert (
        detect_identifier("x", pl.Series([f"rec-{i}-org" for i in range(100)])).concept
        == "record id"
    )
    assert detect_identifier("x", pl.Series([*range(7, 107)])).concept == "record id"
    assert detect_identifier("x", pl.Series([f"rec-{i % 50}-org" for i in range(100)])) is None
    assert (
        detect_identifier("x", pl.Series([i * i for i in range(100)])) is None
    )  # a measurement, as far as we can tell


def test_no_more_than_ten_thousand_values_are_looked_at_and_they_are_spread():
    values = pl.Series(["x"] * 10_000 + [f"u{i}@example.org" for i in range(90_000)])
    assert sample_of(values).cells == 10_000
    assert detect_identifier("column", values).concept == "e-mail address"
