"""What to give instead, where an output is not one that can be judged: the model and not its
summary, the numbers and not the picture.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sfumato.results.checking.layout import GIVE_DATA
from sfumato.results.checking.untrusted_objects import number_of, peek
from sfumato.results.checking.verdict import OutputReason, open_question

if TYPE_CHECKING:
    import polars as pl

THE_MODEL = (
    "give the fitted model itself, not a table of it: sf.check_output(model, data); its "
    "coefficients are then written"
)
SOMEBODY = (
    "a person must check it; session.add(table, 'what it shows', comment='how it was fitted, and "
    "to how many persons') asks for that"
)
COEFFICIENTS = (
    "coef",
    "coef.",
    "std err",
    "std.err.",
    "se(coef)",
    "exp(coef)",
    "p>|t|",
    "p>|z|",
    "z",
    "t",
    "[0.025",
    "0.975]",
    "bse",
    "pvalues",
    "tvalues",
)
CONSTANTS = ("intercept", "const", "(intercept)")
"""Columns and rows that tables of coefficients have."""


def ask_for_output(output: object) -> OutputReason:
    """The question of an output whose kind is not known, with what to give instead."""
    if output is None:
        words = "there is no output: None was given"
        return open_question("kind", words, "give what shall be released")
    if number_of(output) is not None:
        advice = f"say what it shows, tells='mean(cost)', and {GIVE_DATA}"
        return open_question("kind", "a number alone does not say what it shows", advice)
    if isinstance(output, str | bytes):
        advice = (
            "give the table or model that it was printed from; text of your own is for the output"
            " checker"
        )
        return open_question(
            "kind", "text cannot be checked automatically, so a person must look at it", advice
        )
    if isinstance(output, Mapping | list | tuple):
        advice = (
            "make it a table, with a column per statistic: pl.DataFrame({'mean(cost)': [...], "
            "'n': [...]}); or give kind=..."
        )
        return open_question("kind", "the meaning of these numbers is unknown", advice)
    # The summaries of statsmodels, the figures and axes of matplotlib, other fits of lifelines.
    if peek(output, "as_latex") is not None or (peek(output, "as_csv") and peek(output, "as_html")):
        words = "this is the printed summary of a model, which cannot be computed again"
        return open_question("kind", words, THE_MODEL)
    if peek(output, "savefig") is not None or peek(output, "get_figure") is not None:
        advice = (
            "give the numbers that it shows: the table, (counts, edges) with kind='histogram', or"
            " the fitted curve"
        )
        words = "a picture cannot be checked automatically, so a person must look at it"
        return open_question("kind", words, advice)
    if peek(output, "params_") is not None and peek(output, "summary") is not None:
        return open_question("kind", "fits of this kind cannot be computed again", SOMEBODY)
    words = "the meaning of this is unknown, so a person must look at it"
    return open_question("kind", words, f"say it (kind=..., tells=...), or {GIVE_DATA}")


def ask_for_model(frame: pl.DataFrame) -> OutputReason | None:
    """A question of a table that looks like coefficients of a model; None for others."""
    names = {name.strip().lower() for name in frame.columns}
    labels: set[str] = set()
    if frame.columns:
        # The constant of a model usually stands among the first rows.
        labels = {str(label).strip().lower() for label in frame.to_series(0).head(50)}
    # One such name may be chance: "t" or "z" are names of columns, too.
    if len(names & set(COEFFICIENTS)) < 2 and not labels & set(CONSTANTS):
        return None
    words = (
        "this looks like coefficients of a model, which cannot be computed again from a table of"
        " them"
    )
    advice = f"{THE_MODEL}; a model of an unknown kind needs review"
    return open_question("kind", words, advice)
