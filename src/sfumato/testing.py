"""Promises in tests: ``assert_promise(frame, "k_anonymity:5", quasi=[...])``.

``pytest -p sfumato.testing`` offers it as a fixture of that name. This module imports nothing until
a test asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.core.model import Model, Verdict


def assert_promise(
    table: Any,
    *promises: str | Model,
    recipe: Any = None,
    original: Any = None,
    population: Any = None,
    **roles: str | Sequence[str],
) -> tuple[Verdict, ...]:
    """Fail with an :class:`AssertionError` where a table does not keep a promise; return the
    verdicts where it does.

    ``table`` is a path, a frame or a table. Promises are written short
    (``"l_diversity:diagnosis,l=3"``) or given as models, with the roles of the columns beside them
    (``quasi=["age", "zip"]``); or a ``recipe`` says both, and direct identifiers must be gone. What
    is said when it fails names columns and counts, never a value.

    >>> from sfumato import examples
    >>> assert_promise(examples.ancona(), "k_anonymity:3")[0].attained
    3
    >>> assert_promise(examples.ancona(), "k_anonymity:5")
    Traceback (most recent call last):
    ...
    AssertionError: 5-anonymity does not hold: ...
    """
    from sfumato.errors import ParameterError
    from sfumato.interfaces import api

    # Exactly one of the two: none or both make the comparison true.
    if (recipe is None) == (not promises):
        raise ParameterError(
            "say what must hold: promises such as 'k_anonymity:5' with roles, or"
            " recipe='visits.yaml'"
        )
    _complete(promises)
    if recipe is not None:
        if roles:
            raise ParameterError("a recipe describes the columns; leave the roles out")
        verdicts = api.check(table, recipe, original=original, population=population)
    else:
        verdicts = api.judge(
            table, promises, roles=roles or None, original=original, population=population
        )
    broken = [
        f"{verdict.promise} does not hold: {verdict.sentence}"
        for verdict in verdicts
        if not verdict.holds
    ]
    if broken:
        raise AssertionError("; ".join(broken))
    return verdicts


def _complete(promises: Sequence[Any]) -> None:
    """Refuse a promise without its degree: it would hold of everything."""
    from sfumato.core import registry
    from sfumato.errors import ParameterError

    questions = [registry.ask(promise) for promise in promises if isinstance(promise, str)]
    if open_ones := [question for question in questions if question.left_open]:
        degrees = ", ".join(open_ones[0].left_open)
        raise ParameterError(
            f"{open_ones[0].text} lacks {degrees}: a promise without its degree always "
            "holds, so give it"
        )


def pytest_configure(config: Any) -> None:
    """Register the fixture with pytest, which is imported already where this is called."""
    import pytest

    # Within the function, for the module itself must not import pytest.
    class Fixtures:
        @pytest.fixture(name="assert_promise", scope="session")
        def promised(self) -> Callable[..., tuple[Verdict, ...]]:
            """``assert_promise(table, "k_anonymity:5", quasi=[...])``;
            see :func:`sfumato.testing.assert_promise`.
            """
            return assert_promise

    config.pluginmanager.register(Fixtures(), "sfumato-fixtures")
