"""Numbers, percentages, plurals and lists are spelled in one place: how, and that nobody else
does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato.core.words import count_of, duration, inflect, join_words, moment, number, percent

SOURCE = Path(sfumato.__file__).parent
LOGICAL_CONDITIONS = {
    "policy/clauses.py",
    "policy/dialects/subsumption.py",
    "methods/steps/synthesis/rules.py",
    "results/queries/question.py",
}
"""They join conditions by *and* and *or* as logic does, which is no list of a sentence."""
NAMES_OF_STATISTICS = {"results/checking/layout.py", "results/checking/statistics_of_columns.py"}
"""They spell ``25%`` as pandas calls a quartile."""


@given(st.floats(0, 1))
def test_percent_never_hides_a_risk(share: float) -> None:
    shown = percent(share)
    assert (shown == "0 %") == (share == 0)
    assert (shown == "100 %") == (share == 1)
    assert abs(float(shown.strip("<>%")) / 100 - share) <= 0.001


def test_a_rate_that_is_not_there_is_unknown() -> None:
    assert percent(None) == percent(float("nan")) == "unknown"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (1234567, "1,234,567"),
        (0.125, "0.125"),
        (123456.7, "123,457"),
        (None, "–"),
        (False, "no"),
    ],
)
def test_number(value: float | None, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2026-03-01T08:30:00+02:00", "2026-03-01 06:30 UTC"),
        ("2026-03-01T08:30:00", "2026-03-01 08:30"),
        ("some day", "some day"),
    ],
)
def test_moment(text: str, shown: str) -> None:
    assert moment(text) == shown


def test_counts_and_lists_as_sentences_need_them() -> None:
    assert [count_of(count, "row") for count in (0, 1, 2000)] == ["no rows", "1 row", "2,000 rows"]
    assert inflect(1, "needs", "need") == "needs"
    assert [join_words(words) for words in ([], ["a"], ["a", "b"], iter(["a", "b", "c"]))] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]
    assert duration(119.6) == "120 s" and duration(121) == "2 min"


def spelled_by_hand(source: str) -> Iterator[tuple[int, str]]:
    """Lines that spell a percentage, a plural or a list themselves."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            parts = node.values
            for part, after in zip(parts, [*parts[1:], None], strict=True):
                if isinstance(part, ast.FormattedValue):
                    spec = ast.unparse(part.format_spec) if part.format_spec else ""
                    follows = after.value if isinstance(after, ast.Constant) else ""
                    if "%'" in spec or '%"' in spec or re.match(r" ?%(?![\w(])", follows):
                        yield node.lineno, "percentage"
                    if _chooses_a_form(part.value):
                        yield node.lineno, "plural"
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "join"
        ):
            if isinstance(node.func.value, ast.Constant) and node.func.value.value in (
                " and ",
                " or ",
            ):
                yield node.lineno, "list"
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.search(r"\{:[,.0-9]*%\}", node.value)
        ):
            yield node.lineno, "percentage"


def _chooses_a_form(value: ast.expr) -> bool:
    """``'s' * (n > 1)``, ``'s'[: n > 1]`` or ``'row' if n == 1 else 'rows'``."""
    if isinstance(value, ast.IfExp):
        ends = [end.value for end in (value.body, value.orelse) if isinstance(end, ast.Constant)]
        of_one = (
            isinstance(value.test, ast.Compare) and ast.unparse(value.test.comparators[0]) == "1"
        )
        return "s" in ends or (len(ends) == 2 and of_one and all(map(str.isalpha, map(str, ends))))
    first = (
        value.left
        if isinstance(value, ast.BinOp)
        else value.value
        if isinstance(value, ast.Subscript)
        else None
    )
    return isinstance(first, ast.Constant) and first.value == "s"


def test_nobody_else_spells_percentages_plurals_or_lists() -> None:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        for line, what in spelled_by_hand(path.read_text(encoding="utf-8")):
            known = (name in LOGICAL_CONDITIONS and what == "list") or (
                name in NAMES_OF_STATISTICS and what == "percentage"
            )
            if name != "core/words.py" and not known:
                found.append(f"{name}:{line} spells a {what}; use core/words.py")
    assert found == []


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("f'{share:.1%} of all'", "percentage"),
        ("f'{100 * share:.0f} % of all'", "percentage"),
        ("f'{100 * share:.0f}%'", "percentage"),
        ("'{:.1%}'.format(share)", "percentage"),
        ('f\'{n} row{"s" if n > 1 else ""}\'', "plural"),
        ("f'{n} row{\"s\" * (n > 1)}'", "plural"),
        ("f'{n} row{\"s\"[: n > 1]}'", "plural"),
        ('f\'{n} {"row" if n == 1 else "rows"}\'', "plural"),
        ("' and '.join(names)", "list"),
    ],
)
def test_what_is_spelled_by_hand_is_seen(source: str, what: str) -> None:
    assert [name for _, name in spelled_by_hand(source)] == [what]
