"""``sfumato plan``: what buckets and classes t-closeness allows, before any data are touched."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.options import Json
from sfumato.cli.talk import give_json, out
from sfumato.errors import ParameterError

NOTHING_FITS = 4


def plan(
    n: Annotated[int, typer.Option("--n", help="records of the table")],
    k: Annotated[int, typer.Option("--k", help="least number of records of a class")],
    t: Annotated[float | None, typer.Option("--t", help="factor that classes may be away from the table")] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="instead of --t: t is e^(ε/2), under the bridge's assumption")
    ] = None,
    buckets: Annotated[int | None, typer.Option(help="buckets of confidential values; t rounded down, plus 1")] = None,
    json: Json = False,
) -> None:
    """Plan buckets of confidential values: how many, how many classes, whether they fit, how far classes can be."""
    from sfumato.formulas.bridge import needed_t, plan_buckets

    if (t is None) == (epsilon is None):
        raise ParameterError("give either --t or --epsilon: sfumato plan --n 10000 --k 10 --t 2.5")
    factor = t if t is not None else needed_t(epsilon or 0.0).value
    found = plan_buckets(n, k, factor, buckets=buckets)
    if json:
        give_json(found.to_dict())
    else:
        for sentence in found.sentences():
            out().print(sentence, soft_wrap=True, markup=False)
    if not found.feasible:
        raise typer.Exit(NOTHING_FITS)
