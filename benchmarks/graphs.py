"""Graphs: reading, refinement, degree anonymization and the whole way to a verified release, and
how they grow with the ties.

make bench BENCH=graphs

Ties are those of a generated network (preferential attachment, five ties a person), ids in random
order; k = 10.
"""

from __future__ import annotations

import resource
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from race import Ours, Race, at, best_of, growth, once, process, script

from sfumato import examples
from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.data.graphs.degree_anonymization import DegreeAnonymization
from sfumato.data.graphs.graph import PeopleGraph
from sfumato.data.graphs.k_degree import KDegree
from sfumato.data.graphs.knowledge import exact_classes

K = 10
RECIPE = f"""
sfumato: 1
shape: graph
columns: {{person: {{role: from}}, friend: {{role: to}}}}
meet: [{{k_degree: {K}}}]
steps: [{{degree_anonymization: {K}}}]
"""


@once
def network(ties: int) -> PeopleGraph:
    """A network of about so many ties."""
    return examples.social_network(ties // 5)


def peak() -> float:
    """Megabytes that this process held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@once
def reading(ties: int) -> Ours:
    """From tables of ties to sorted rows of neighbours."""
    graph = network(ties)
    tables, schemas = graph.to_tables(), {"data": graph.schema, "people": graph.beside}

    def build(_: None) -> PeopleGraph:
        made = PeopleGraph.from_tables(tables, schemas, graph.source)
        made.ties  # noqa: B018 - built when it is asked for
        return made

    cpu, wall, made = best_of(3, build)
    return Ours(
        cpu, bool((made.arcs == graph.arcs).all()), f"{made.counts()['edges']:,} ties", wall, peak()
    )


@once
def refinement(ties: int) -> Ours:
    """Three rounds, proved by comparing neighbours."""
    graph = network(ties)
    exact_classes(network(1000), 3)  # compiled loops are warm
    cpu, wall, (classes, sizes) = best_of(3, lambda _: exact_classes(graph, 3))
    alone = int((sizes == 1).sum())
    return Ours(
        cpu,
        int(np.bincount(classes).sum()) == graph.people,
        f"{alone:,} people alone in H3",
        wall,
        peak(),
    )


@once
def anonymized(ties: int) -> Ours:
    """Degree anonymization by adding ties, judged."""
    graph, step = network(ties), DegreeAnonymization(K)
    step.plan(network(1000), Goal(seed=Seed(1)))
    cpu, wall, plan = best_of(2, lambda _: step.plan(graph, Goal(seed=Seed(1))))
    seen = f"{plan.describe()['added_edges']:,} ties added"
    return Ours(cpu, KDegree(K).judge(plan.graph).holds, seen, wall, peak())


@once
def whole(ties: int) -> Ours:
    """The command from a CSV file to the written release, without attacks, and its peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        graph = network(ties)
        order = np.random.default_rng(1).permutation(graph.people)
        ends = order[graph.edges]
        pl.DataFrame({"person": ends[0], "friend": ends[1]}).write_csv(home / "ties.csv")
        (home / "recipe.yaml").write_text(RECIPE)
        command = [
            sys.executable,
            "-m",
            "sfumato",
            "run",
            home / "ties.csv",
            "-r",
            home / "recipe.yaml",
        ]
        spent = process([*command, "-o", home / "out", "--attack", "0"])
        process([sys.executable, "-m", "sfumato", "verify", home / "out" / "share"])
        return Ours(spent.cpu, True, f"{spent.peak:,.0f} MB at most", spent.wall, spent.peak)


READ = "the ties that were written come back"
ALL = "everybody is in one class; neighbours of all members were compared"
HOLDS = f"every degree stands for at least {K} people"
VERIFIED = "the release verifies"
RACES = (
    Race("graph from 10⁶ ties", READ, at(10**6, reading), aim=3.0),
    Race("growth of reading graphs", READ, growth(reading, 10**6), unit="n^", aim=1.3),
    Race("three rounds of refinement, 10⁶ ties", ALL, at(10**6, refinement), aim=1.0),
    Race("growth of refinement", ALL, growth(refinement, 10**6), unit="n^", aim=1.3),
    Race("degree anonymization, 10⁶ ties, k = 10", HOLDS, at(10**6, anonymized), aim=5.0),
    Race("growth of degree anonymization", HOLDS, growth(anonymized, 10**6), unit="n^", aim=1.5),
    Race("run and write, 10⁶ ties", VERIFIED, at(10**6, whole), aim=30.0),
)

if __name__ == "__main__":
    script(__file__)
