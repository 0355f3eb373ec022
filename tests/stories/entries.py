"""How a claim is entered in the registry: see ``claims.py``."""

from __future__ import annotations

from typing import NamedTuple

from tests.stories.product_claims import Found


class Entry(NamedTuple):
    """A claim, where it is made, and who tries to break it."""

    statement: str
    found: tuple[Found, ...]
    tests: tuple[str, ...]


def promise(shape: str, name: str, statement: str, *tests: str) -> Entry:
    """A model of the registry: what holds of a release where its verdict says so."""
    return Entry(statement, (Found("promise", shape, name),), tests)


def step(shape: str, name: str, statement: str, *tests: str) -> Entry:
    """A step that certifies an ε."""
    return Entry(statement, (Found("accounted step", shape, name),), tests)


def check(module: str, names: str | tuple[str, ...], statement: str, *tests: str) -> Entry:
    """Claims that ``verify`` finds to hold, by name."""
    names = (names,) if isinstance(names, str) else names
    return Entry(statement, tuple(Found("claim of verify", module, name) for name in names), tests)


def best(places: tuple[tuple[str, str], ...], statement: str, *tests: str) -> Entry:
    """Figures of plans and names of methods that say that nothing is better."""
    return Entry(
        statement, tuple(Found("optimality", module, word) for module, word in places), tests
    )


def said(module: str, sentences: str | tuple[str, ...], statement: str, *tests: str) -> Entry:
    """Sentences of one module."""
    sentences = (sentences,) if isinstance(sentences, str) else sentences
    return Entry(statement, tuple(Found("sentence", module, text) for text in sentences), tests)


WRITTEN = "tests/test_written_fuzz.py::test_what_is_certified_is_true_in_the_file"
RELEASED = "tests/test_fuzz.py::test_run_releases_what_holds_or_refuses_politely"
FORGED = "tests/release/test_certificate_fuzz.py::test_no_single_lie_about_the_file_holds"
OTHER_ROWS = "tests/release/test_certificate_fuzz.py::test_other_rows_with_all_digests_made_anew"
FORGED_PEOPLE = (
    "tests/release/any_shape/test_release.py::test_false_claims_with_a_fresh_digest_are_caught"
)
SENSITIVE = "tests/methods/models/test_sensitive.py::test_what_a_model_implies_holds_with_it"
NEIGHBOURS = "tests/release/test_fixed_form_fuzz.py::test_neighbouring_tables_look_alike"
