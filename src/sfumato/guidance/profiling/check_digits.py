"""Identifiers recognised by their check digits: national ids, bank accounts, payment cards, phones.

A check digit passes by chance: one random number in ten does. So a column counts as a kind of
number only when

* nearly all of its values are valid (:data:`VALID_SHARE`),
* far fewer stay valid when their digits are replaced by random ones (:data:`CHANCE_SHARE`), and
* so many valid values are there that chance is no explanation: ``p**valid <= 1e-6`` with *p* the
  share that stays valid under random digits.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import random
import re
from collections.abc import Callable, Sequence
from types import ModuleType

from sfumato.core.data_files import read_data_file
from sfumato.core.words import percent
from sfumato.guidance.profiling.detection import Recognition, TextSample, share

VALID_SHARE = 0.9
CHANCE_SHARE = 0.5
CHANCE = 1e-6
# Values a validator is run on.
TRIED = 400

_SEPARATORS = re.compile(r"[\s./-]")
_SSN = re.compile(r"\d{3}-\d{2}-\d{4}")
_PHONE = re.compile(r"\+?[\d\s()./-]{7,22}")
_DATE_LIKE = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}.*|\d+\.\d+")
_PHONE_REGIONS = (
    "US",
    "GB",
    "DE",
    "FR",
    "ES",
    "IT",
    "NL",
    "PT",
    "PL",
    "SE",
    "AT",
    "CH",
    "BE",
    "DK",
    "NO",
    "FI",
    "CZ",
    "BR",
    "MX",
    "IN",
    "AU",
)


@dataclasses.dataclass(frozen=True)
class Number:
    """A kind of number: what it is, whose, the lengths it has without separators, and its
    validator.
    """

    concept: str
    whose: str
    lengths: tuple[int, ...]
    module: str


@functools.cache
def checked_numbers() -> tuple[Number, ...]:
    """Numbers with check digits that name a person; those of firms are left out."""
    national = [
        Number("national id number", entry["country"], tuple(entry["lengths"]), entry["module"])
        for entry in read_data_file(__package__, "national_numbers")
    ]
    iban = Number("bank account", "IBAN", tuple(range(15, 35)), "iban")
    return (iban, Number("device id", "IMEI", (15,), "imei"), *national)


def find_number(sample: TextSample, *, whole: bool) -> Recognition | None:
    """The kind of number the values are by their check digits; ``whole``: the column holds
    integers.
    """
    if len(sample.texts) < 3:
        return None
    texts = _padded(sample.texts) if whole else sample.texts
    compact = [_SEPARATORS.sub("", text) for text in texts[:200]]
    length = _usual_length(compact)
    if length < 7 or not any(character.isdigit() for character in "".join(compact[:20])):
        return None
    return (
        _card(texts, length)
        or _checked(texts, length)
        or _ssn(texts)
        or (None if whole else _phone(texts))
    )


def _padded(texts: Sequence[str]) -> Sequence[str]:
    """Integers with the leading zeros that a numeric column has lost."""
    longest = max(map(len, texts))
    if longest - min(map(len, texts)) <= 2:
        return [text.zfill(longest) for text in texts]
    return texts


def _usual_length(compact: Sequence[str]) -> int:
    lengths = sorted(map(len, compact))
    return lengths[len(lengths) // 2]


def _checked(texts: Sequence[str], length: int) -> Recognition | None:
    for number in checked_numbers():
        if length in number.lengths:
            part = valid_share(_validator(number.module), texts)
            if part:
                if number.concept == "national id number":
                    kind = f"an id number ({number.whose})"
                else:
                    kind = f"an {number.whose}"
                return Recognition(
                    number.concept,
                    f"{percent(part)} of the values have the check digits of {kind}",
                    0.95,
                )
    return None


@functools.cache
def _validator(module: str) -> Callable[[str], bool]:
    """The validator of a stdnum module; some of them stumble over numbers that are no numbers of
    theirs.
    """
    is_valid = importlib.import_module(f"stdnum.{module}").is_valid

    def valid(text: str) -> bool:
        try:
            return bool(is_valid(text))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return False

    return valid


def valid_share(valid: Callable[[str], bool], texts: Sequence[str]) -> float:
    """Share of valid values, or 0 where chance explains it (see the module's rule)."""
    part = share(valid, texts, at_most=TRIED)
    if part < VALID_SHARE:
        return 0.0
    sample_size = min(len(texts), TRIED)
    by_chance = max(_share_by_chance(valid, texts), 0.02)
    if by_chance > CHANCE_SHARE or by_chance ** (part * sample_size) > CHANCE:
        return 0.0
    return part


def _share_by_chance(valid: Callable[[str], bool], texts: Sequence[str]) -> float:
    """Share of values that stay valid when every digit is redrawn (fixed seed: the answer must
    not vary).
    """
    draw = random.Random(20070101)
    rounds = max(1, 200 // len(texts))
    noise = [_redrawn(text, draw) for text in texts[:200] for _ in range(rounds)]
    return sum(1 for text in noise if valid(text)) / len(noise)


def _redrawn(text: str, draw: random.Random) -> str:
    return "".join(
        str(draw.randrange(10)) if character.isdigit() else character for character in text
    )


def _card(texts: Sequence[str], length: int) -> Recognition | None:
    if not 13 <= length <= 19:
        return None
    part = valid_share(_is_card, texts)
    if not part:
        return None
    return Recognition(
        "payment card", f"{percent(part)} of the values have the check digit of payment cards", 0.95
    )


_ISSUERS = re.compile(
    r"4\d{12}(?:\d{3}){0,2}"  # Visa
    r"|(?:5[1-5]|2[2-7])\d{14}"  # Mastercard
    r"|3[47]\d{13}"  # American Express
    r"|6(?:011|5\d\d)\d{12}"  # Discover
    r"|3(?:0[0-5]|[68]\d)\d{11}"  # Diners Club
    r"|35\d{14}"  # JCB
    r"|(?:50|5[6-9]|6\d)\d{10,17}"  # Maestro
)


def _is_card(text: str) -> bool:
    from stdnum import luhn

    compact = re.sub(r"[\s-]", "", text)
    return bool(_ISSUERS.fullmatch(compact)) and bool(luhn.is_valid(compact))


def _ssn(texts: Sequence[str]) -> Recognition | None:
    """US social security numbers have no check digit: only their usual writing gives them away."""
    part = share(lambda text: bool(_SSN.fullmatch(text)), texts)
    if part < 0.95 or len(texts) < 5:
        return None
    return Recognition(
        "national id number",
        f"{percent(part)} of the values are written like US social security numbers",
        0.9,
    )


def _phone(texts: Sequence[str]) -> Recognition | None:
    """Phone numbers: international by the plus sign, national by a region's numbering plan and a
    phone's writing.
    """
    if share(lambda text: bool(_PHONE.fullmatch(text)), texts) < 0.8:
        return None
    part = share(_is_international, texts, at_most=TRIED)
    if part >= 0.6:
        return Recognition(
            "phone number", f"{percent(part)} of the values are international phone numbers", 0.97
        )
    if share(_written_like_phone, texts) < 0.9:
        return None
    if _numbering_plans() is None:
        part = share(_is_written_as_national, texts, at_most=TRIED)
        words = f"{percent(part)} of the values are written as phone numbers"
        return Recognition("phone number", words, 0.85) if part >= 0.95 else None
    for region in _PHONE_REGIONS:
        valid = functools.partial(_is_national, region=region)
        part = share(valid, texts, at_most=100)
        if part >= 0.95 and part - _share_by_chance(valid, texts[:100]) >= 0.2:
            return Recognition(
                "phone number",
                f"{percent(part)} of the values are phone numbers of one country",
                0.85,
            )
    return None


def _written_like_phone(text: str) -> bool:
    grouped = text.startswith(("0", "(", "+")) or len(re.findall(r"[\s()/-]+", text.strip())) >= 2
    return grouped and not _DATE_LIKE.fullmatch(text)


def _is_international(text: str) -> bool:
    if _numbering_plans() is None:
        # E.164: at most 15 digits, the first of which is no 0. Fewer than 8 are no subscriber.
        digits = re.sub(r"\D", "", text.removeprefix("00"))
        return text.startswith(("+", "00")) and bool(re.fullmatch(r"[1-9]\d{7,14}", digits))
    return text.startswith(("+", "00")) and _is_phone(
        "+" + text.removeprefix("00").lstrip("+"), region=None
    )


def _is_national(text: str, region: str) -> bool:
    return _written_like_phone(text) and _is_phone(text, region)


@functools.cache
def _numbering_plans() -> ModuleType | None:
    """The numbering plans of all countries; None where the extra `phones` is not installed."""
    try:
        return importlib.import_module("phonenumbers")
    except ImportError:
        return None


def _is_written_as_national(text: str) -> bool:
    """Whether a text without a known plan is written as only phone numbers are: a trunk prefix or
    an area code in brackets, groups apart, and as many digits as plans have.
    """
    digits = re.sub(r"\D", "", text)
    apart = re.search(r"\d[\s)/-]+\(?\d", text.strip()) is not None
    prefixed = text.startswith(("0", "("))
    return prefixed and apart and _written_like_phone(text) and 8 <= len(digits) <= 13


def _is_phone(text: str, region: str | None) -> bool:
    phonenumbers = _numbering_plans()
    if phonenumbers is None:
        return False
    try:
        return bool(phonenumbers.is_valid_number(phonenumbers.parse(text, region)))
    except phonenumbers.NumberParseException:
        return False
