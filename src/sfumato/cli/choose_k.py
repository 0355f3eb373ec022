"""``sfumato choose-k``: from a tolerable risk to k, and back."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sfumato.cli.options import Json


def choose_k(
    risk: Annotated[float | None, typer.Option(help="the risk that can be tolerated, above 0 and at most 1")] = None,
    k: Annotated[int | None, typer.Option("--k", help="the other way: the risk that this k bounds")] = None,
    population: Annotated[int | None, typer.Option(help="people the file was drawn from, with --records")] = None,
    records: Annotated[int | None, typer.Option(help="records of the file, with --population")] = None,
    json: Json = False,
) -> None:
    """Say which k a tolerable risk asks for, strictly and in practice, or which risk a k bounds."""
    from sfumato.cli.talk import give_json, out
    from sfumato.errors import ParameterError

    if (risk is None) == (k is None):
        raise ParameterError("give either --risk or --k: sfumato choose-k --risk 0.09")
    if k is not None and (population is not None or records is not None):
        raise ParameterError("--population and --records go with --risk")
    found = _from_risk(risk, population, records) if risk is not None else _from_k(k)
    if json:
        give_json(found)
        return
    for sentence in found["sentences"]:
        out().print(sentence, soft_wrap=True, markup=False)
    if risk is not None:
        _show_habits()


def _from_risk(risk: float, population: int | None, records: int | None) -> dict[str, Any]:
    from sfumato.core import choosing_k

    return choosing_k.choose_k(risk, population=population, records=records).to_dict()


def _from_k(k: int | None) -> dict[str, Any]:
    from sfumato.core.choosing_k import risk_of

    risk = risk_of(k or 0)
    known = "the chance of picking the right record of somebody known to be in the file"
    return {"k": k, "risk": risk, "sentences": [f"k = {k:,} bounds {known} by 1/{k:,} = {risk:.4g}."]}


def _show_habits() -> None:
    """The rule of thumb, which is no norm."""
    from sfumato.cli.talk import out
    from sfumato.core.choosing_k import RULE_OF_THUMB

    told = ", ".join(f"{need} {low}–{high}" for need, low, high in RULE_OF_THUMB)
    out().print(f"Rule of thumb by need of protection, a habit and no norm: {told}.", soft_wrap=True, markup=False)
