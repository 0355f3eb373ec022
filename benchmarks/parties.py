"""What it costs to compute together: secure sums by protocol, parties and cells, and one joint
release.

    make bench BENCH=parties                                         sums of 10², 10⁴ and 10⁶ cells
    among 3, 4 and 10 parties make bench BENCH=parties ARGS='--tls'                            the
    same, a process a party, over TLS on this machine make bench BENCH=parties ARGS='--release
    --parties 4 --rows 30000'   a joint release, compared with that of the pooled table

Seconds without --tls are CPU seconds of all parties, who share one process, divided by their
number; with --tls the slowest party's clock (parties share the processors of this machine) and,
beside it, its CPU seconds. Bytes are what one party sends, the busiest one. Growth is the exponent
between the two largest sizes: 1 means that time grows as the cells do.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib.util
import math
import multiprocessing
import os
import socket
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.parties.arithmetic import Arithmetic, at_least
from sfumato.parties.channel import Channel, Network
from sfumato.parties.joint import JointRelease
from sfumato.parties.keys import Keys, new_keys
from sfumato.parties.mesh import Mesh, MeshLimits, Peer
from sfumato.parties.protocols import summation
from sfumato.parties.question import Meeting

PROTOCOLS = ("additive", "shamir", "encrypted", "at_least")
CELLS = (100, 10_000, 1_000_000)
BOUND = 10**9
LIMITS = MeshLimits(connect=300, step=600, total=7200, bytes=100_000_000_000)

Work = Callable[[Channel], Awaitable[Any]]


def sum_work(protocol: str, cells: int) -> Work:
    """What one party does: add counts, or ask which of them reach 5 in all."""

    async def work(channel: Channel) -> Any:
        counts = np.random.default_rng(channel.number).poisson(2, cells)
        if protocol == "at_least":
            return await at_least(
                Arithmetic(channel, (channel.parties - 1) // 2, os.urandom), counts, 5
            )
        total = await summation(protocol).total(channel, counts, BOUND, os.urandom)
        expected = sum(np.random.default_rng(i).poisson(2, cells) for i in range(channel.parties))
        assert np.array_equal(total, expected)
        return None

    return work


def in_one_process(parties: int, work: Work) -> tuple[float, float, int, list[Any]]:
    """Seconds of a party twice (CPU), bytes of the busiest one, and what the parties found."""
    network = Network(parties)
    channels = [network.channel(i) for i in range(parties)]

    async def everyone() -> list[Any]:
        return await asyncio.gather(*(work(channel) for channel in channels))

    start = time.process_time()
    found = asyncio.run(everyone())
    took = (time.process_time() - start) / parties
    return took, took, max(channel.sent for channel in channels), found


def over_tls(
    parties: int, work: Callable[..., Work], arguments: Sequence[Any]
) -> tuple[float, float, int, list[Any]]:
    """The slowest party's seconds, its CPU seconds, bytes of the busiest one, and what the parties
    found.
    """
    with tempfile.TemporaryDirectory() as folder:
        for i in range(parties):
            new_keys(Path(folder), f"p{i}")
        ports = free_ports(parties)
        jobs = [(i, parties, folder, ports, work, arguments) for i in range(parties)]
        with multiprocessing.get_context("spawn").Pool(parties) as pool:
            results = pool.starmap(party, jobs, chunksize=1)
    slowest = max(results)
    return slowest[0], slowest[1], max(r[2] for r in results), [r[3] for r in results]


def party(
    number: int,
    parties: int,
    folder: str,
    ports: Sequence[int],
    work: Callable[..., Work],
    arguments: Sequence[Any],
) -> tuple[float, float, int, Any]:
    """One party in a process of its own; the clock starts when all have come."""
    keys = [Keys(Path(folder), f"p{i}") for i in range(parties)]
    peers = [Peer(f"p{i}", "127.0.0.1", ports[i], keys[i].der()) for i in range(parties)]

    async def meet() -> tuple[float, float, int, Any]:
        mesh = await Mesh.open(number, peers, keys[number], LIMITS)
        clock, cpu = time.perf_counter(), time.process_time()
        found = await work(*arguments)(mesh)
        took = time.perf_counter() - clock, time.process_time() - cpu
        await mesh.close()
        return *took, mesh.sent, found

    return asyncio.run(meet())


def free_ports(count: int) -> list[int]:
    """Ports that nobody uses now."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def sums(options: argparse.Namespace) -> None:
    """One line a protocol and number of parties."""
    print(
        f"{'parties':>7} {'protocol':<10}"
        + "".join(f"{cells:>26,}" for cells in CELLS)
        + f"{'growth':>8}"
    )
    for parties in options.parties or (3, 4, 10):
        for protocol in PROTOCOLS:
            if protocol == "encrypted" and importlib.util.find_spec("tenseal") is None:
                continue
            shown, took = "", []
            for cells in CELLS:
                wall, cpu, sent, _ = run(options.tls, parties, sum_work, (protocol, cells))
                took.append((cells, cpu))
                seconds = f"{wall:.3f} ({cpu:.3f})" if options.tls else f"{wall:.3f}"
                shown += f"{seconds + ' s ' + amount(sent):>26}"
            (less, fast), (more, slow) = took[-2:]
            growth = math.log(slow / max(fast, 1e-9)) / math.log(more / less)
            print(f"{parties:>7} {protocol:<10}{shown}{growth:>8.2f}", flush=True)


def run(
    tls: bool, parties: int, work: Callable[..., Work], arguments: Sequence[Any]
) -> tuple[float, float, int, Any]:
    """By the way that was asked for."""
    return over_tls(parties, work, arguments) if tls else in_one_process(parties, work(*arguments))


def amount(sent: int) -> str:
    """Bytes, shortly."""
    return f"{sent / 1e6:.1f} MB" if sent >= 1e6 else f"{sent / 1e3:.1f} KB"


# A joint release

WORK = ["a1", "a2", "a3", "b1", "b2", "c1", "c2", "c3"]
COLUMNS = {
    "age": {"role": "quasi", "between": [0, 99], "hierarchy": {"intervals": [5, 10, 20]}},
    "zip": {"role": "quasi", "between": [100, 299], "hierarchy": {"mask_right": {"length": 3}}},
    "sex": {"role": "quasi", "domain": ["f", "m"], "hierarchy": "suppress"},
    "state": {
        "role": "quasi",
        "domain": ["single", "married", "divorced", "widowed"],
        "hierarchy": "suppress",
    },
    "work": {
        "role": "quasi",
        "domain": WORK,
        "hierarchy": {"table": {"rows": [[w, w[0], "*"] for w in WORK]}},
    },
    "illness": {"role": "sensitive", "domain": ["none", "cold", "flu", "asthma", "cancer"]},
}


def people(rows: int, seed: int) -> pl.DataFrame:
    """Made-up persons."""
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": np.clip(draw.normal(45, 20, rows), 0, 99).astype(np.int64),
            "zip": 100 + (200 * draw.beta(1, 3, rows)).astype(np.int64),
            "sex": draw.choice(["f", "m"], rows),
            "state": draw.choice(
                ["single", "married", "divorced", "widowed"], rows, p=[0.35, 0.45, 0.12, 0.08]
            ),
            "work": draw.choice(WORK, rows, p=[0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.06, 0.04]),
            "illness": draw.choice(
                ["none", "cold", "flu", "asthma", "cancer"], rows, p=[0.6, 0.2, 0.1, 0.07, 0.03]
            ),
        }
    )


def question(k: int, budget: str, insiders: bool, l: int | None) -> JointRelease:  # noqa: E741
    """The release that is asked for."""
    return JointRelease(COLUMNS, k=k, budget=budget, insiders=insiders, l=l)


def release_work(asked: tuple[Any, ...], rows: int) -> Work:
    """What one party does for the release."""

    async def work(channel: Channel) -> Any:
        own = sf.Table(people(rows // channel.parties, channel.number))
        meeting = Meeting(channel, None, (channel.parties - 1) // 2)  # type: ignore[arg-type]
        return await question(*asked).compute(own, meeting)

    return work


def release(options: argparse.Namespace) -> None:
    """One release among so many parties, and the same of the pooled table."""
    asked = (options.k, options.budget, options.insiders, options.l)
    for parties in options.parties or (3, 4, 10):
        joint, rows = question(*asked), options.rows // parties * parties
        expected = joint.cost(parties, None, rows)  # type: ignore[arg-type]
        wall, cpu, sent, found = run(options.tls, parties, release_work, (asked, rows))
        pooled = pl.concat([people(rows // parties, i) for i in range(parties)])
        same = all(answer == found[0] for answer in found)
        # one table does not say whose rows are whose, as insiders need
        judged = "the same at all parties"
        if not options.insiders:
            same = same and found[0] == joint.plain(sf.Table(pooled))
            judged = "equal to the pooled release"
        learned, lattice = found[0]["learned"], joint.lattice
        print(
            f"{parties} parties, {rows:,} rows, {len(lattice.nodes)} nodes of up to"
            f" {max(map(lattice.cells, range(len(lattice.nodes)))):,} cells ({lattice.left_out}"
            f" left out): {found[0]['levels']}, {len(learned['bits'])} bits,"
            f" {learned['nodes_tested']} nodes counted, {wall:.1f} s ({cpu:.1f} s CPU),"
            f" {amount(sent)} a party (at most {amount(expected.sent)} expected),"
            f" {judged if same else 'DIFFERENT'}",
            flush=True,
        )


def main() -> None:
    """Measure sums, or a release."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parties", type=int, nargs="*")
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--release", action="store_true")
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--l", type=int)
    parser.add_argument("--budget", default="0.02")
    parser.add_argument("--insiders", action="store_true")
    options = parser.parse_args()
    release(options) if options.release else sums(options)


if __name__ == "__main__":
    main()
