"""Tasks about what else could be released: the lattice seen from above, one node of it, and
candidates side by side.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.blocks import Block, Heading, ListBlock, Paragraph
from sfumato.core.classes import ladder_of, remap_to
from sfumato.core.data import Context
from sfumato.core.pair import levels_of
from sfumato.core.randomness import Seed
from sfumato.errors import ParameterError, SfumatoError, Unsatisfiable
from sfumato.guidance.comparison import Candidate, CommonTerms, fair_terms, on_one_map, try_and_keep
from sfumato.interfaces.web import choices
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.tasks.made_releases import remembering
from sfumato.release.alternatives import CELLS, alternatives_in, landscape_of, option_at
from sfumato.release.make import make_release

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sfumato.core.objective import Landscape
    from sfumato.core.progress import Progress
    from sfumato.core.recipe import Recipe
    from sfumato.interfaces.web.data_process import Bench
    from sfumato.release.registered_release import Remembering
    from sfumato.release.table_release import TableRelease

LAST = "last survey"
# Nodes up to which the lattice itself is drawn.
MOST_IN_LATTICE = 200
MOST_POINTS = 300
MOST_NEAR = 5
# A value that fewer records have is no example.
FEWEST = 5
LONGEST = 28
FINEST = "Nothing can be finer: every column is unchanged, or as fine as the recipe allows."


@dataclasses.dataclass(frozen=True)
class Surveyed:
    """A landscape, for which version it was made, and the node that the search chose of it by which
    recipe; None: nothing stays within.
    """

    landscape: Landscape
    version: int
    searched: dict[str, dict[str, int] | None]


def survey(
    bench: Bench, progress: Progress, *, recipe: Recipe, open_recipe: Recipe, made_for: int
) -> Fields:
    """Look at every node of the lattice that the recipe's search chooses from, and keep it;
    ``open_recipe`` leaves the search its choice.
    """
    if choices.lattice_step(open_recipe) is None:
        raise ParameterError(
            "no step of this recipe chooses from a lattice; add global_recoding, for example"
        )
    survey_recipe = choices.to_survey(open_recipe)
    table = bench.data.described_by(survey_recipe)
    searched: dict[str, int] | None
    context = Context(Seed.of(None), refuse=False, progress=_until(progress, 0.7))
    try:
        release = make_release(table, survey_recipe, context)
        landscape, plan = landscape_of(release)
        searched = dict(plan.levels)
    except Unsatisfiable:
        # nothing stays within the budget: all nodes are still worth a look
        free = choices.with_lattice_step(survey_recipe, budget=1.0)
        release = make_release(table, free, dataclasses.replace(context, seed=Seed.of(None)))
        landscape, searched = landscape_of(release)[0], None
    progress(1.0, "all combinations are known")
    bench.keep(
        _key(open_recipe),
        Surveyed(landscape, made_for, {choices.searched_key(open_recipe): searched}),
    )
    bench.keep(LAST, _key(open_recipe))
    return {"nodes": len(landscape)}


def _until(progress: Progress, end: float) -> Progress:
    """The progress of the first part of the work; then every node is looked at."""

    def part(share: float, words: str = "") -> None:
        progress(end * share, words or "looking at all combinations")

    return part


def _key(open_recipe: Recipe) -> str:
    return f"landscape {choices.lattice_key(open_recipe)}"


def front(
    bench: Bench,
    progress: Progress,
    *,
    recipe: Recipe,
    open_recipe: Recipe,
    axes: tuple[str, str],
    filters: Mapping[str, Any] | None = None,
) -> Fields:
    """The landscape of a recipe along two axes: what to draw, and the points nothing beats; of an
    older recipe where this one's is not known. ``filters`` say which nodes count.

    ``known``: a landscape is there; ``fresh``: it is this recipe's. ``in_use`` is the node that a
    run would release, ``searched`` the one that the search chooses; each None where that is not
    known.
    """
    if choices.lattice_step(recipe) is None:
        return {"known": False, "lattice": False}
    fresh = bench.recall(_key(open_recipe))
    survey_kept = fresh or bench.recall(str(bench.recall(LAST)))
    if survey_kept is None:
        return {"known": False, "lattice": True}
    landscape, allowed = (
        survey_kept.landscape,
        choices.records_allowed(recipe, survey_kept.landscape.records),
    )
    if fresh is not None:
        landscape = dataclasses.replace(landscape, budget=allowed)
    in_use = None
    if fresh is not None:
        searched = survey_kept.searched.get(choices.searched_key(open_recipe))
        in_use = choices.chosen_in(recipe) or searched
    return {
        "known": True,
        "lattice": True,
        "fresh": fresh is not None,
        "version": survey_kept.version,
        "by_hand": choices.chosen_in(recipe) is not None,
        "in_use": _node_position(landscape, in_use),
        **_describe_landscape(landscape, axes, landscape.passing(filters or {})),
    }


def _node_position(landscape: Landscape, levels: dict[str, int] | None) -> int | None:
    if levels is None or set(levels) != set(landscape.columns):
        return None
    return landscape.position(levels)


def _describe_landscape(
    landscape: Landscape, axes: tuple[str, str], passing: NDArray[np.bool_]
) -> Fields:
    """What of a landscape is drawn, of the nodes that pass the filters; ``points`` has every node
    that is named by its number, with its levels.
    """
    across, up = axes
    landscape.along(across), landscape.along(up)
    nodes = np.flatnonzero(passing)
    part = landscape.part(passing)
    if landscape.whole:
        # thousands of nodes are drawn as one dot for each cell of a grid
        thinned, times = part.thinned(across, up, CELLS)
        dots, best = nodes[thinned], nodes[part.trade_off(up, across)[:MOST_POINTS]]
    else:
        dots = np.flatnonzero((landscape.classes > 0) & passing)
        times, best = (
            np.ones(len(dots), dtype=np.int64),
            dots[np.argsort(landscape.score[dots], kind="stable")],
        )
    draws_lattice = len(landscape) <= MOST_IN_LATTICE and landscape.whole
    node_numbers = nodes.tolist() if draws_lattice else np.union1d(dots, best).tolist()
    return {
        "objective": landscape.objective,
        "records": landscape.records,
        "budget": landscape.budget,
        "nodes": len(landscape),
        "passing": len(nodes),
        "within": int(part.feasible().sum()),
        "whole": landscape.whole,
        "few": draws_lattice,
        "ranges": {
            column: (int(low), int(high))
            for column, low, high in zip(
                landscape.columns, landscape.low, landscape.high, strict=True
            )
        },
        "tops": dict(zip(landscape.columns, landscape.tops, strict=True)),
        "dots": dict(zip(dots.tolist(), times.tolist(), strict=True)),
        "front": best.tolist(),
        "points": {at: dataclasses.asdict(option_at(landscape, at)) for at in node_numbers},
    }


def nodes_near(
    bench: Bench,
    progress: Progress,
    *,
    recipe: Recipe,
    open_recipe: Recipe,
    axes: tuple[str, str],
    at: tuple[float, float],
) -> list[Fields]:
    """At most five nodes nearest to a point of the picture, each with its number and its levels."""
    landscape = landscape_for(bench, recipe, open_recipe)
    nodes = landscape.near(*axes, at, MOST_NEAR).tolist()
    return [{"id": node, **dataclasses.asdict(option_at(landscape, node))} for node in nodes]


def reasons(
    bench: Bench, progress: Progress, *, recipe: Recipe, open_recipe: Recipe, levels: dict[str, int]
) -> list[Block]:
    """Why a node is no finer: what each column one level finer would cost, and of the one that the
    search chose why it did.
    """
    alternatives = alternatives_in(landscape_for(bench, recipe, open_recipe), levels)
    sentences = alternatives.reasons()
    blocks: list[Block] = [Heading("Why not finer?")]
    is_best = alternatives.overlooked is None and alternatives.chosen.within_budget
    if is_best:
        blocks.append(Paragraph(sentences.choice))
    finer = []
    for neighbour, words in zip(alternatives.neighbours, sentences.neighbours, strict=True):
        if neighbour.change < 0:
            finer.append(words)
    blocks.append(ListBlock(tuple(finer) or (FINEST,)))
    if is_best:
        blocks += [Paragraph(words, "quiet") for words in sentences.outlook]
    return blocks


def landscape_for(bench: Bench, recipe: Recipe, open_recipe: Recipe) -> Landscape:
    """The landscape that was surveyed for a recipe, under the budget that this one allows."""
    survey_kept = bench.recall(_key(open_recipe))
    if survey_kept is None:
        raise ParameterError("the combinations of this version have not been examined yet")
    landscape: Landscape = survey_kept.landscape
    return dataclasses.replace(landscape, budget=choices.records_allowed(recipe, landscape.records))


def level_examples(
    bench: Bench, progress: Progress, *, recipe: Recipe
) -> dict[str, list[str | None]]:
    """For each quasi-identifier and level, the value that most records have there; None where fewer
    than five have it.
    """
    table = bench.data.described_by(recipe)
    return {column: _examples(table, column) for column in recipe.schema.quasi}


def _examples(table: Any, column: str) -> list[str | None]:
    encoded = table.encoded(column)
    ladder = ladder_of(table, column, encoded)
    labels_by_level: list[str | None] = []
    for level in range(ladder.depth):
        labels = ladder.labels[level]
        counts = np.bincount(
            remap_to(ladder, encoded, level), weights=encoded.counts, minlength=len(labels)
        )
        counts[[position for position, label in enumerate(labels) if label is None]] = 0
        commonest = 0
        if len(counts):
            commonest = int(counts.argmax())
        label = None
        if len(counts) and counts[commonest] >= FEWEST:
            label = labels[commonest]
        labels_by_level.append(
            label if label is None or len(label) <= LONGEST else label[: LONGEST - 1] + "…"
        )
    return labels_by_level


# Candidates side by side.


def compare(
    bench: Bench,
    progress: Progress,
    *,
    pins: list[tuple[str, Recipe]],
    register: dict[str, str] | None = None,
) -> Fields:
    """Make, attack and measure every candidate alike: the map of them all, and of each its levels
    and what its contract says.

    A candidate of which nothing comes out says why; nothing is known of it then. Where a
    ``register`` is named, it is asked what each would tell together with earlier releases
    (``together``, sentences), and limits on that are held against it, as when a release is written;
    nothing is entered. ``registered`` is how many releases stand in it; None: there was none to
    ask.
    """
    candidates = [Candidate(name, recipe) for name, recipe in pins]
    terms = fair_terms(candidates, CommonTerms(Seed.of(None)))
    outcomes, details = [], {}
    with remembering(None if not register else {"to": "a comparison", **register}) as remembered:
        for position, candidate in enumerate(candidates):
            part = _part(progress, position, len(candidates), candidate.name)
            outcome, release = try_and_keep(bench.data, candidate, terms, part, remembered.memory)
            outcomes.append(outcome)
            detail: Fields = {"levels": {}, "contract": [], "drawn": False}
            detail["together"] = _together(remembered, release)
            if release is not None:
                rungs = levels_of(plan.describe() for _, plan in release.plans)
                detail["levels"] = {name: [rung.level, rung.top] for name, rung in rungs.items()}
                detail["contract"] = [check.to_dict() for check in release.contract]
                detail["drawn"] = release.released.drawn
            details[candidate.name] = detail
        standing = None
        if remembered.register is not None:
            standing = len(remembered.register.standing)
    progress(1.0)
    comparison = on_one_map(bench.data.source.name, outcomes)
    return {**comparison.to_dict(), "more": details, "registered": standing}


def _together(remembered: Remembering, release: TableRelease | None) -> list[str]:
    """What a candidate would tell together with the releases of the register; nothing where there
    is none to ask, or nothing came out.
    """
    if remembered.register is None or release is None:
        return []
    try:
        return remembered.together(release).sentences
    except SfumatoError as error:
        return [f"unknown: {error}"]


def _part(progress: Progress, position: int, of: int, name: str) -> Progress:
    return lambda share, words="": progress(
        (position + share) / of, f"{name}: {words}" if words else name
    )
