"""Everything the product affirms of a release is entered in the registry of claims, with tests that
try to break it.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import pytest

from sfumato.core.shape import Shape
from tests.stories.claims import CLAIMS
from tests.stories.entries import Entry
from tests.stories.no_claims import NO_SENTENCES, OTHER_MEANINGS
from tests.stories.product_claims import (
    Found,
    claims_of_module,
    find_all,
    find_promises,
    sentences_of_module,
    sentences_of_template,
)

ROOT = Path(__file__).parents[2]
PATTERNS = [pattern for patterns in NO_SENTENCES.values() for pattern in patterns]


@pytest.fixture(scope="module")
def product() -> set[Found]:
    return find_all()


def without_entry(found: Iterable[Found], entries: Sequence[Entry] = CLAIMS) -> list[str]:
    """What the product affirms and nobody entered, by name."""
    known = {place for entry in entries for place in entry.found}
    missing = [
        one
        for one in found
        if one not in known and one not in OTHER_MEANINGS and not is_no_claim(one)
    ]
    return sorted(map(str, missing))


def without_place(found: Iterable[Found], entries: Sequence[Entry] = CLAIMS) -> list[str]:
    """What is entered and the product no longer affirms, by name."""
    known = {place for entry in entries for place in entry.found} | set(OTHER_MEANINGS)
    return sorted(map(str, known - set(found)))


def is_no_claim(found: Found) -> bool:
    return found.kind == "sentence" and any(
        re.fullmatch(pattern, found.text) for pattern in PATTERNS
    )


@cache
def functions_of(file: Path) -> dict[str, ast.FunctionDef]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def problem_of(test: str, root: Path = ROOT) -> str | None:
    """Why a test that is named cannot break anything: it is not there, skipped, or expected to
    fail.
    """
    place, _, name = test.partition("::")
    if not (root / place).is_file():
        return f"{test}: there is no such file"
    function = functions_of(root / place).get(name)
    if function is None:
        return f"{test}: there is no such test"
    for decorator in function.decorator_list:
        mark = ast.unparse(decorator)
        if re.match(r"pytest\.mark\.(skip|xfail)\b", mark):
            return f"{test}: it is skipped or expected to fail"
    return None


# The registry and the product


def test_every_claim_has_an_entry(product: set[Found]) -> None:
    assert not without_entry(product), (
        "enter them in tests/stories/claims_of_*.py with the test that tries to break them"
    )


def test_every_entry_is_claimed(product: set[Found]) -> None:
    assert not without_place(product), "the product no longer says so: take the entries out"


def test_every_pattern_of_no_claims_is_needed_and_hides_no_entry(product: set[Found]) -> None:
    texts = [one.text for one in product if one.kind == "sentence"]
    unused = [
        pattern for pattern in PATTERNS if not any(re.fullmatch(pattern, text) for text in texts)
    ]
    assert not unused
    assert not [str(place) for entry in CLAIMS for place in entry.found if is_no_claim(place)]


def test_every_claim_is_entered_once() -> None:
    places = Counter(place for entry in CLAIMS for place in entry.found)
    assert not [str(place) for place, times in places.items() if times > 1]


def test_every_claim_names_tests_that_are_run() -> None:
    problems = {
        problem for entry in CLAIMS for test in entry.tests if (problem := problem_of(test))
    }
    assert not sorted(problems)
    assert not [
        entry.statement for entry in CLAIMS if not entry.tests or not entry.statement.endswith(".")
    ]


# What the walk would notice


def test_a_new_model_is_noticed() -> None:
    found = find_promises(
        {Shape.TABLE: ("k_anonymity", "m_invisibility"), Shape.GRAPH: ("k_degree",)}
    )
    assert without_entry(found) == ["promise of table: 'm_invisibility'"]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("def tell():\n    return 'every record is verified'", "every record is verified"),
        (
            "def tell(k):\n    print(f'proved: nobody is among fewer than {k}')",
            "proved: nobody is among fewer than {}",
        ),
        ("WORDS = {'k': 'certified to be safe'}", "certified to be safe"),
        ("def tell(p):\n    return f'the chance is at most {p:.1%}'", "the chance is at most {}"),
        (
            "def tell(one):\n    return 'holds whatever comes' if one else 'no'",
            "holds whatever comes",
        ),
    ],
)
def test_a_new_sentence_is_noticed(code: str, text: str) -> None:
    assert without_entry(sentences_of_module("made_up", ast.parse(code))) == [
        f"sentence of made_up: {text!r}"
    ]


@pytest.mark.parametrize(
    "code",
    [
        "def look():\n    '''The promise holds for ever.'''",
        "def look():\n    raise ValueError('every promise holds for ever')",
        "def look(one):\n    return one == 'verified by all'",
        "LIMIT = Field(3, description='proved for at most so many')",
        "def look(one):\n    return one['certified for ever']",
    ],
)
def test_what_is_not_said_of_a_release_is_no_sentence(code: str) -> None:
    assert not sentences_of_module("made_up", ast.parse(code))


def test_a_new_sentence_of_a_page_is_noticed() -> None:
    page = "<p class='holds'>{{ name }} is {# certified #} <b>guaranteed to be safe</b>.</p>"
    assert without_entry(sentences_of_template("page", page)) == [
        "sentence of template page: 'guaranteed to be safe'",
    ]


def test_a_new_claim_of_verify_is_noticed() -> None:
    code = """
def look(fits):
    name = "nobody is alone"
    yield Claim(name, "holds" if fits else "fails", "")
    yield Claim("never holds", "fails", "")
    yield Claim(f"{fits} rows{END}", *judged())
"""
    found = claims_of_module("made_up", ast.parse(code), {"END": " of all"})
    assert without_entry(found) == [
        "claim of verify of made_up: 'nobody is alone'",
        "claim of verify of made_up: '{} rows of all'",
    ]


def test_an_entry_that_nobody_claims_is_noticed() -> None:
    place = Found("sentence", "made_up", "it holds")
    assert str(place) in without_place([], [Entry("It holds.", (place,), ())])
    assert str(place) not in without_place([place], [Entry("It holds.", (place,), ())])


def test_tests_that_cannot_break_anything_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n\n@pytest.mark.skip\ndef test_skipped():\n    assert 0\n\n"
        "@pytest.mark.xfail(reason='x')\ndef test_expected():\n    assert 0\n\n"
        "@pytest.mark.skipif(False, reason='x')\ndef test_sometimes():\n    assert 1\n",
        encoding="utf-8",
    )
    assert (
        problem_of("test_it.py::test_skipped", tmp_path)
        == "test_it.py::test_skipped: it is skipped or expected to fail"
    )
    assert problem_of("test_it.py::test_expected", tmp_path) is not None
    assert problem_of("test_it.py::test_sometimes", tmp_path) is None
    assert (
        problem_of("test_it.py::test_gone", tmp_path)
        == "test_it.py::test_gone: there is no such test"
    )
    assert problem_of("gone.py::test_it", tmp_path) == "gone.py::test_it: there is no such file"
