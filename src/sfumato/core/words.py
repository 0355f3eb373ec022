"""Numbers, percentages, plurals, lists and times in sentences: the only place that spells them."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping


def number(value: float | None) -> str:
    """A count or quantity as text.

    >>> number(12345), number(0.55163), number(5.0), number(True), number(None)
    ('12,345', '0.5516', '5', 'yes', '–')
    >>> number(107930241362.4)
    '1.079e+11'
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if 1e4 <= abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{value:,.4g}"


def score(value: float) -> str:
    """A measure or the score of a node: shares with four digits, so that a column of them lines up.

    >>> score(0.468), score(1.0), score(-132.0), score(1234567.0)
    ('0.4680', '1.0000', '-132', '1,234,567')
    """
    if abs(value) <= 1:
        return f"{value:.4f}"
    return number(value)


def percent(share: float | None, digits: int | None = None) -> str:
    """A share as a percentage; what is not nothing and not everything never looks as if it were.

    Whole percentages have no digits, others one, small ones two, unless ``digits`` says how many.

    >>> percent(0), percent(0.2), percent(0.0303), percent(0.0009), percent(1)
    ('0 %', '20 %', '3.0 %', '0.09 %', '100 %')
    >>> percent(1 / 199_523), percent(0.99999)
    ('<0.01 %', '>99.9 %')
    >>> percent(1 / 3, 3), percent(0.5, 0), percent(None)
    ('33.333 %', '50 %', 'unknown')
    """
    if share is None or math.isnan(share):
        return "unknown"
    hundredths = 100 * share
    if digits is not None:
        return f"{hundredths:.{digits}f} %"
    if 0 < share < 0.0001:
        return "<0.01 %"
    if 0.999 < share < 1:
        return ">99.9 %"
    # Whole but for rounding: 100 * 0.29 is 28.999999999999996.
    if abs(hundredths - round(hundredths)) < 1e-9:
        return f"{hundredths:.0f} %"
    if abs(share) < 0.01:
        return f"{hundredths:.2f} %"
    return f"{hundredths:.1f} %"


def percent_tick(share: float) -> str:
    """A share beside an axis, without needless zeros.

    >>> [percent_tick(share) for share in (0.0, 0.005, 0.5, 1e-6)]
    ['0 %', '0.5 %', '50 %', '0.0001 %']
    """
    return f"{100 * share:.6f}".rstrip("0").rstrip(".") + " %"


def inflect(count: int, singular: str, plural: str = "") -> str:
    """The form of a noun or a verb that goes with so many; a noun gets an *s* unless its plural is
    given.

    >>> inflect(1, "row"), inflect(2, "row"), inflect(2, "is", "are")
    ('row', 'rows', 'are')
    """
    if count == 1:
        return singular
    return plural or f"{singular}s"


def count_of(count: int, singular: str, plural: str = "") -> str:
    """So many of something.

    >>> count_of(1, "row"), count_of(1200, "row"), count_of(0, "person", "people")
    ('1 row', '1,200 rows', 'no people')
    """
    words = inflect(count, singular, plural)
    if count:
        return f"{count:,} {words}"
    return f"no {words}"


def join_words(words: Iterable[str], last: str = "and") -> str:
    """Words as a sentence lists them.

    >>> join_words(["1", "2", "5"], "or"), join_words(["visits"])
    ('1, 2 or 5', 'visits')
    """
    *first, final = tuple(words) or ("",)
    if first:
        return f"{', '.join(first)} {last} {final}"
    return final


def duration(seconds: float) -> str:
    """How long something took.

    >>> [duration(seconds) for seconds in (0.0003, 0.25, 1.26, 20, 300, 7200)]
    ['<0.1 s', '0.2 s', '1.3 s', '20 s', '5 min', '2 h']
    """
    if 0 < seconds < 0.1:
        return "<0.1 s"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.3g} h"


def moment(text: str) -> str:
    """A time stamp as people read it.

    >>> moment("2026-11-15T21:00:49+00:00")
    '2026-11-15 21:00 UTC'
    """
    try:
        parsed = datetime.datetime.fromisoformat(text)
    except ValueError:
        return text
    if parsed.tzinfo is None:
        return f"{parsed:%Y-%m-%d %H:%M}"
    return f"{parsed.astimezone(datetime.UTC):%Y-%m-%d %H:%M} UTC"


def size_in_words(count: int) -> str:
    """Bytes as people say them.

    >>> size_in_words(999), size_in_words(4_200), size_in_words(2_500_000)
    ('999 B', '4 kB', '2.5 MB')
    """
    if count < 1000:
        return f"{count} B"
    if count < 1e6:
        return f"{count / 1e3:.0f} kB"
    return f"{count / 1e6:.1f} MB"


def plain_name(name: str) -> str:
    """A name of a recipe as words.

    >>> plain_name("global_recoding")
    'global recoding'
    """
    return name.replace("_", " ")


def as_sentence(text: str) -> str:
    """Words as a sentence: it starts large and ends in a full stop.

    >>> as_sentence("in 0 of 166 classes all are alike"), as_sentence("")
    ('In 0 of 166 classes all are alike.', '')
    """
    text = text.strip()
    if not text or text.endswith((".", "!", "?")):
        full_stop = ""
    else:
        full_stop = "."
    return text[:1].upper() + text[1:] + full_stop


def counts_in_words(counts: Mapping[str, int]) -> str:
    """Counts by name, one after the other.

    >>> counts_in_words({"people": 1200, "items": 30})
    '1,200 people, 30 items'
    """
    return ", ".join(f"{count:,} {plain_name(name)}" for name, count in counts.items())


def first_sentence(doc: str | None) -> str:
    r"""The first sentence of a docstring, on one line: its lines up to the first that ends with a
    full stop.

    >>> first_sentence("The mean loss\nof a cell.\n\nMore.")
    'The mean loss of a cell.'
    """
    sentence: list[str] = []
    for line in (doc or "").strip().splitlines():
        if not line.strip():
            break
        sentence.append(line.strip())
        if sentence[-1].endswith("."):
            break
    return " ".join(sentence)
