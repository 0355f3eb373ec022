"""Everything that parties can ask, by its name in a study."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from sfumato.core.fields import Document
from sfumato.core.parameters import Members, values_of
from sfumato.errors import ParameterError, did_you_mean
from sfumato.parties.question import JointQuestion

QUESTIONS = Members(
    "sfumato.parties",
    {
        "count": "statistics:JointCount",
        "sum": "statistics:JointSum",
        "mean": "statistics:JointMean",
        "variance": "statistics:JointVariance",
        "mean_difference": "statistics:JointMeanDifference",
        "histogram": "counts:JointHistogram",
        "contingency_table": "counts:JointContingencyTable",
        "quantiles": "counts:JointQuantiles",
        "linear_regression": "regression:LinearRegression",
        "logistic_regression": "regression:LogisticRegression",
        "release": "joint:JointRelease",
    },
)


def question_from(plain: object) -> JointQuestion:
    """A question as a study writes it: ``{"mean": {"column": "age", "bounds": ["0", "120"]}}``.

    >>> question_from({"mean": {"column": "age", "bounds": ["0", "120"]}}).columns
    ('age',)
    """
    if isinstance(plain, JointQuestion):
        return plain
    # a name alone asks with all defaults
    if isinstance(plain, str):
        plain = {plain: {}}
    if not isinstance(plain, Mapping) or len(plain) != 1:
        raise ParameterError(
            f"a question must be one name with its details; there are {', '.join(QUESTIONS)}"
        )
    [(name, details)] = plain.items()
    if name not in QUESTIONS:
        raise ParameterError(
            f"joint question {name!r} does not exist.{did_you_mean(str(name), QUESTIONS)}"
        )
    if not isinstance(details, Mapping):
        raise ParameterError(
            f"the details of question {name!r} must be a mapping, like {{column: age}}"
        )
    kind = QUESTIONS[name]
    try:
        question: JointQuestion = kind(**{str(key): value for key, value in details.items()})
    except ParameterError as error:  # the name in the study, not that of the class
        raise ParameterError(f"{name}: {str(error).removeprefix(f'{kind.__name__}: ')}") from None
    return question


def question_to(question: JointQuestion) -> Document:
    """The inverse of :func:`question_from`, with everything that differs from its default."""
    return {question.name: _plain_mapping(question)}


def _plain_mapping(value: object) -> Any:
    """Values within values as mappings, all the way down."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # what is given only: a default written out would make another question of it
        return {name: _plain_mapping(getattr(value, name)) for name in values_of(value)}
    if isinstance(value, list | tuple):
        return [_plain_mapping(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _plain_mapping(item) for name, item in value.items()}
    return value
