"""``sfumato explain`` with figures: from a tolerable risk to k, and what buckets t-closeness
allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from sfumato.core.fields import Document
from sfumato.core.options import CommandOption
from sfumato.core.source import Intake
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.console import give_json, out, progress, show_blocks
from sfumato.interfaces.cli.options import ShowOptions, read_data

NOTHING_FITS = 4


@dataclass(frozen=True, kw_only=True)
class FigureOptions(ShowOptions):
    """The k that is explained or planned with."""

    k: Annotated[
        int | None, CommandOption("k_anonymity: which risk it bounds; or k of the plan", ("--k",))
    ] = None


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


def show_choice(
    data: str | None, figures: FigureOptions, choice: ChoiceOptions, intake: Intake
) -> None:
    """Say which k a tolerable risk asks for, strictly and in practice, or which risk a k bounds.

    With a table and its recipe: how many of its records stand in smaller classes today, what each k
    costs by the recipe's steps, and which is reached. Nothing is written.
    """
    risk, k = choice.risk, figures.k
    has_sample = choice.population is not None or choice.records is not None
    if data is not None or choice.recipe is not None:
        if data is None or choice.recipe is None:
            raise ParameterError(
                "a table and its recipe go together: sfumato explain k_anonymity visits.csv -r"
                " visits.yaml"
            )
        if k is not None or has_sample:
            raise ParameterError(
                "--k, --population and --records are for calls without a table, which "
                "has its own figures; leave them out"
            )
        document = _choose_for_table(data, choice.recipe, risk, intake, quiet=figures.quiet)
    # Exactly one of the two: none or both make the comparison true.
    elif (risk is None) == (k is None):
        raise ParameterError("give either --risk or --k: sfumato explain k_anonymity --risk 0.09")
    elif k is not None:
        if has_sample:
            raise ParameterError("--population and --records go with --risk")
        document = _risk_of(k)
    else:
        from sfumato.methods.formulas.choice_of_k import choose_k

        # The branches above leave only the case in which a risk was given.
        k_choice = choose_k(risk or 0.0, population=choice.population, records=choice.records)
        document = k_choice.to_dict()
    if figures.json:
        give_json(document)
        return
    sentences = list(document["sentences"])
    # Habits are about the need of protection, which a risk states and a k does not.
    if risk is not None:
        sentences.append(_rule_of_thumb())
    _print_sentences(sentences)


def _choose_for_table(
    data: str, recipe: Path, risk: float | None, intake: Intake, *, quiet: bool
) -> Document:
    """What a table and its recipe say about k; the records, and the people they stand for, are the
    table's own.
    """
    from sfumato.core import recipe_files as recipes
    from sfumato.guidance.cost_of_k import PUBLIC_RISK, choose_for
    from sfumato.interfaces.api import with_recipe

    loaded = recipes.load(recipe)
    table = read_data(data, quiet=quiet, intake=intake, recipe=loaded)
    dataset = with_recipe(table, loaded)[0].in_memory("explain k_anonymity")
    if risk is None:
        risk = PUBLIC_RISK
    with progress("trying", quiet=quiet) as on_progress:
        return choose_for(dataset, loaded, risk=risk, progress=on_progress).to_dict()


def _risk_of(k: int) -> Document:
    from sfumato.methods.formulas.choice_of_k import risk_of

    risk = risk_of(k)
    chance = "the chance of picking the right record of a person known to be in the file"
    sentence = f"k = {k:,} bounds {chance} by 1/{k:,} = {risk:.4g}."
    return {"k": k, "risk": risk, "sentences": [sentence]}


def _rule_of_thumb() -> str:
    from sfumato.methods.formulas.choice_of_k import RULE_OF_THUMB

    habits = ", ".join(f"{need} {low}–{high}" for need, low, high in RULE_OF_THUMB)
    return f"Rules of thumb by need of protection (customs, not norms): {habits}."


def _print_sentences(sentences: list[str]) -> None:
    for sentence in sentences:
        out().print(sentence, soft_wrap=True, markup=False)


# ``sfumato explain l_diversity --data``: how many classes a promise allows, before any search.


@dataclass(frozen=True)
class BoundOptions:
    """What classes are bounded by."""

    panel: ClassVar[str] = "How many classes: explain l_diversity --data"
    values: Annotated[
        str | None, CommandOption("a table, for how many classes a promise allows", ("--data",))
    ] = None
    sensitive: Annotated[list[str] | None, CommandOption("a sensitive column; may be repeated")] = (
        None
    )


def show_bounds(
    name: str, figures: FigureOptions, bounds: BoundOptions, recipe: Path | None, intake: Intake
) -> None:
    """Say how many classes a promise about a sensitive column allows at most, and whether it can be
    kept without suppression.

    With a recipe, of the promises it makes; otherwise of usual degrees.
    """
    from sfumato.core import recipe_files as recipes
    from sfumato.interfaces.api import with_recipe
    from sfumato.release.class_bounds import bound_classes

    if bounds.values is None:
        raise ParameterError("--sensitive needs --data with a table")
    loaded = None if recipe is None else recipes.load(recipe)
    data: Any = read_data(bounds.values, quiet=figures.quiet, intake=intake, recipe=loaded)
    if loaded is not None:
        data = with_recipe(data, loaded)[0]
    answer = bound_classes(
        data.in_memory(f"explain {name} --data"),
        name,
        sensitive=bounds.sensitive or (),
        k=5 if figures.k is None else figures.k,
        models=() if loaded is None else loaded.meet,
    )
    if figures.json:
        give_json(answer.to_dict())
        return
    show_blocks(answer.blocks())


# ``sfumato explain bucketize --plan``: what buckets and classes t-closeness allows, before any data
# are touched.


@dataclass(frozen=True)
class PlanOptions:
    """What buckets are planned from."""

    panel: ClassVar[str] = "Which buckets: explain bucketize --plan"
    plan: Annotated[
        bool | None, CommandOption("plan buckets of confidential values", ("--plan",))
    ] = None
    n: Annotated[int | None, CommandOption("records of the table", ("--n",))] = None
    t: Annotated[
        float | None, CommandOption("factor by which classes may differ from the table", ("--t",))
    ] = None
    epsilon: Annotated[float | None, CommandOption("instead of --t, which is e^(ε/2) then")] = None
    buckets: Annotated[int | None, CommandOption("how many; else t rounded down, plus 1")] = None


def show_plan(figures: FigureOptions, plan: PlanOptions) -> None:
    """Plan buckets of confidential values: how many, how many classes, whether they fit, how far
    classes can be.
    """
    from sfumato.methods.formulas.bridge import needed_t
    from sfumato.methods.formulas.bucket_plans import plan_buckets

    k, t = figures.k, plan.t
    if plan.n is None or k is None or (t is None) == (plan.epsilon is None):
        example = "sfumato explain bucketize --plan --n 10000 --k 10 --t 2.5"
        raise ParameterError(f"give --n, --k, and either --t or --epsilon: {example}")
    if t is None:
        t = needed_t(plan.epsilon or 0.0).value
    buckets = plan_buckets(plan.n, k, t, buckets=plan.buckets)
    if figures.json:
        give_json(buckets.to_dict())
    else:
        _print_sentences(buckets.sentences())
    if not buckets.feasible:
        raise typer.Exit(NOTHING_FITS)
