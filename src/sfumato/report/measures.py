"""What utility metrics are called on a page, and what they say in a line that needs no formula."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sfumato.report.wording import humanised

FIRST = ("loss", "squared_error", "query_workload", "accuracy", "completeness")
"""What a reader sees without opening anything: what cells lost, what answers lost, and what is still there."""
HIGHER = frozenset({"completeness", "uniqueness", "timeliness", "validity", "accuracy", "consistency"})
"""Measures that are better when higher; a test holds this against the metrics themselves."""
MEASURES = {
    "loss": ("Loss (LM)", "how much of its column's range or values a cell leaves open"),
    "ncp": ("Certainty penalty (NCP)", "the same, as the Mondrian literature counts it"),
    "precision": ("Precision lost", "how far up their hierarchies the cells stand"),
    "height": ("Height", "how high the columns were generalised, whatever their values"),
    "non_uniform_entropy": ("Non-uniform entropy", "bits needed to get the original values back, column by column"),
    "kl_divergence": ("KL divergence", "how far the joint distribution of the quasi-identifiers is from the original"),
    "ambiguity": ("Ambiguity", "combinations of values that a record may stand for"),
    "average_class_size": ("Average class size", "records that share their quasi-identifiers, on average"),
    "c_avg": ("Class size over k (C_AVG)", "how much larger the classes are than was promised"),
    "discernibility": ("Discernibility", "records that a record cannot be told apart from"),
    "classification": ("Classification (CM)", "records that the majority label of their class gets wrong"),
    "squared_error": ("Squared error of cells", "mean squared distance of a cell from its original"),
    "record_squared_error": ("Squared error of records", "mean squared distance of a record from its original"),
    "sse_over_sst": ("Variation lost (SSE/SST)", "share of the variation of the numbers that is lost"),
    "il1s": ("Absolute error (IL1s)", "mean absolute error of a number, in standard deviations"),
    "means": ("Means", "relative error of the means of numbers"),
    "quantiles": ("Quantiles", "relative error of the quantiles of numbers"),
    "covariances": ("Covariances", "relative error of variances and covariances"),
    "correlations": ("Correlations", "mean absolute error of the correlations of numbers"),
    "eigenvalues": ("Eigenvalues", "relative error of the eigenvalues of the correlation matrix"),
    "propensity": ("Propensity (pMSE)", "how well a model tells released records from original ones"),
    "query_workload": ("Counting queries", "median error of random counts answered from the release"),
    "predictive_accuracy": ("Prediction", "accuracy lost by a model that learned from the release"),
    "regression_overlap": ("Regression", "how little the confidence intervals of coefficients overlap"),
    "table": ("Table", "share of records in another cell of a table than before"),
    "count": ("Count", "relative error of one count"),
    "completeness": ("Completeness", "share of cells that hold something"),
    "uniqueness": ("Uniqueness", "share of records that are no duplicate of another"),
    "timeliness": ("Timeliness", "share of records that are not too old"),
    "validity": ("Validity", "share of cells that are what their column may hold"),
    "accuracy": ("Accuracy", "share of cells that equal the original"),
    "consistency": ("Consistency", "share of records that keep the rules between columns"),
}


def title_of(name: str) -> str:
    """What a metric is called on a page.

    >>> title_of("ncp"), title_of("my_metric")
    ('Certainty penalty (NCP)', 'My metric')
    """
    return MEASURES[name][0] if name in MEASURES else humanised(name).capitalize()


def meaning_of(name: str) -> str:
    """What a metric says, in a line; nothing for one that is not ours."""
    return MEASURES[name][1] if name in MEASURES else ""


def best_of(name: str) -> str:
    """Which value is best."""
    return "1 is best" if name in HIGHER else "0 is best"


def first_and_more(entries: Iterable[tuple[str, Any]]) -> tuple[list[Any], list[Any]]:
    """Entries by name in two lists: those to show at once, in their order of importance, and the others."""
    given = dict(entries)
    first = [given[name] for name in FIRST if name in given]
    return first, [entry for name, entry in given.items() if name not in FIRST]
