"""``sfumato explain`` with figures: from a tolerable risk to k, and what buckets t-closeness
allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from sfumato.core.options import CommandOption
from sfumato.core.source import Intake
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.console import give_json, out, progress
from sfumato.interfaces.cli.options import read_data


@dataclass(frozen=True)
class ChoiceOptions:
    """What k is chosen from."""

    panel: ClassVar[str] = "Which k: explain k_anonymity"
    risk: Annotated[float | None, CommandOption("the risk that can be tolerated, at most 1")] = None
    population: Annotated[int | None, CommandOption("people the file was drawn from")] = None
    records: Annotated[int | None, CommandOption("records of the file, with --population")] = None
    recipe: Annotated[Path | None, CommandOption("the recipe of the table", ("--recipe", "-r"))] = (
        None
    )


def tell_choice(
    data: str | None,
    k: int | None,
    asked: ChoiceOptions,
    intake: Intake,
    *,
    json: bool,
    quiet: bool,
) -> None:
    """Say which k a tolerable risk asks for, strictly and in practice, or which risk a k bounds.

    With a table and its recipe: how many of its records stand in smaller classes today, what each k
    costs by the recipe's steps, and which is reached. Nothing is written.
    """
    sample = (asked.population, asked.records)
    if data is not None or asked.recipe is not None:
        chosen = _from_table(data, asked.recipe, asked.risk, [k, *sample], intake, quiet=quiet)
    elif (asked.risk is None) == (k is None):
        raise ParameterError("give either --risk or --k: sfumato explain k_anonymity --risk 0.09")
    elif k is not None and any(figure is not None for figure in sample):
        raise ParameterError("--population and --records go with --risk")
    else:
        chosen = _from_risk(asked.risk, *sample) if asked.risk is not None else _from_k(k)
    if json:
        give_json(chosen)
        return
    for sentence in chosen["sentences"]:
        out().print(sentence, soft_wrap=True, markup=False)
    if asked.risk is not None:
        _show_habits()


def _from_table(
    data: str | None,
    recipe: Path | None,
    risk: float | None,
    others: list[int | None],
    intake: Intake,
    *,
    quiet: bool,
) -> dict[str, Any]:
    """What a table and its recipe say about k; the records, and the people they stand for, are the
    table's own.
    """
    from sfumato.core import recipe_files as recipes
    from sfumato.guidance.cost_of_k import PUBLIC_RISK, choose_for
    from sfumato.interfaces.api import with_recipe

    if data is None or recipe is None:
        raise ParameterError(
            "a table and its recipe go together: sfumato explain k_anonymity visits.csv -r"
            " visits.yaml"
        )
    if any(other is not None for other in others):
        raise ParameterError(
            "--k, --population and --records go without a table, which has figures of its own"
        )
    loaded = recipes.load(recipe)
    read = read_data(data, quiet=quiet, intake=intake, recipe=loaded)
    dataset = with_recipe(read, loaded)[0].in_memory("explain k_anonymity")
    with progress("trying", quiet=quiet) as on_progress:
        return choose_for(
            dataset, loaded, risk=PUBLIC_RISK if risk is None else risk, progress=on_progress
        ).to_dict()


def _from_risk(risk: float, population: int | None, records: int | None) -> dict[str, Any]:
    from sfumato.methods.formulas import choice_of_k

    return choice_of_k.choose_k(risk, population=population, records=records).to_dict()


def _from_k(k: int | None) -> dict[str, Any]:
    from sfumato.methods.formulas.choice_of_k import risk_of

    risk = risk_of(k or 0)
    chance = "the chance of picking the right record of somebody known to be in the file"
    return {
        "k": k,
        "risk": risk,
        "sentences": [f"k = {k:,} bounds {chance} by 1/{k:,} = {risk:.4g}."],
    }


def _show_habits() -> None:
    """The rule of thumb, which is no norm."""
    from sfumato.methods.formulas.choice_of_k import RULE_OF_THUMB

    habits = ", ".join(f"{need} {low}–{high}" for need, low, high in RULE_OF_THUMB)
    out().print(
        f"Rule of thumb by need of protection, a habit and no norm: {habits}.",
        soft_wrap=True,
        markup=False,
    )


# ``sfumato explain bucketize --plan``: what buckets and classes t-closeness allows, before any data
# are touched.

NOTHING_FITS = 4


@dataclass(frozen=True)
class PlanOptions:
    """What buckets are planned from."""

    panel: ClassVar[str] = "Which buckets: explain bucketize --plan"
    plan: Annotated[
        bool | None, CommandOption("plan buckets of confidential values", ("--plan",))
    ] = None
    n: Annotated[int | None, CommandOption("records of the table", ("--n",))] = None
    t: Annotated[
        float | None, CommandOption("factor that classes may be away from the table", ("--t",))
    ] = None
    epsilon: Annotated[float | None, CommandOption("instead of --t, which is e^(ε/2) then")] = None
    buckets: Annotated[int | None, CommandOption("how many; else t rounded down, plus 1")] = None


def tell_plan(k: int | None, asked: PlanOptions, *, json: bool) -> None:
    """Plan buckets of confidential values: how many, how many classes, whether they fit, how far
    classes can be.
    """
    from sfumato.methods.formulas.bridge import needed_t
    from sfumato.methods.formulas.bucket_plans import plan_buckets

    if asked.n is None or k is None or (asked.t is None) == (asked.epsilon is None):
        example = "sfumato explain bucketize --plan --n 10000 --k 10 --t 2.5"
        raise ParameterError(f"give --n, --k, and either --t or --epsilon: {example}")
    factor = asked.t if asked.t is not None else needed_t(asked.epsilon or 0.0).value
    bucket_plan = plan_buckets(asked.n, k, factor, buckets=asked.buckets)
    if json:
        give_json(bucket_plan.to_dict())
    else:
        for sentence in bucket_plan.sentences():
            out().print(sentence, soft_wrap=True, markup=False)
    if not bucket_plan.feasible:
        raise typer.Exit(NOTHING_FITS)
