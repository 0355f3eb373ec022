"""Loops that search good groups: downhill until nothing helps, and at random at a temperature."""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.kernels.regrouping import try_create, try_dissolve, try_move, try_swap
from sfumato.kernels.space import inner

_REACH = 12
"""Nearest neighbours whose groups may take in a record of a dissolved group."""
_DISSOLVE = 0.1
"""Share of the changes that dissolve a group; as many try to create one."""


@inner
def _random(draws):
    """64 random bits: xorshift64*, the same on every machine."""
    bits = draws[0]
    bits ^= bits >> np.uint64(12)
    bits ^= bits << np.uint64(25)
    bits ^= bits >> np.uint64(27)
    draws[0] = bits
    return bits * np.uint64(2685821657736338717)


@inner
def _below(draws, count):
    """A random whole number from 0 to count − 1."""
    return np.int64((_random(draws) >> np.uint64(32)) * np.uint64(count) >> np.uint64(32))


@inner
def _uniform(draws):
    """A random number between 0 and 1, neither of them."""
    return (np.float64(_random(draws) >> np.uint64(11)) + 0.5) / 9007199254740992.0


@njit(cache=True, nogil=True)
def anneal(made, k, draws, temperature, tries, active):
    """Try random changes of groups around the ``active`` records at one temperature.

    A change that adds x to the squared error is made with probability min(1, exp(−x/temperature)). Half of the neighbours that
    are looked at lie among the nearest 30 %.
    """
    width = made.near.shape[1]
    reach = min(width, _REACH)
    records, homes = np.empty(made.members.shape[1], np.int64), np.empty(made.members.shape[1], np.int64)
    for _ in range(tries):
        limit = -temperature * np.log(_uniform(draws))
        i = np.int64(active[_below(draws, active.size)])
        kind = _uniform(draws)
        if kind < _DISSOLVE:
            if made.sizes[made.groups[i]] <= k + 1:
                try_dissolve(made, made.groups[i], reach, limit, records, homes)
        elif kind < 2.0 * _DISSOLVE:
            try_create(made, k, i, limit, records, homes)
        else:
            j = np.int64(made.near[i, min(_below(draws, width), _below(draws, width))])
            if made.groups[j] != made.groups[i] and not try_move(made, k, i, made.groups[j], limit):
                try_swap(made, i, j, limit)


@njit(cache=True, nogil=True)
def descend(made, k, active, least, rounds):
    """Make changes that lower the squared error by more than ``least`` each until there are none; returns how many."""
    width = made.near.shape[1]
    records, homes = np.empty(made.members.shape[1], np.int64), np.empty(made.members.shape[1], np.int64)
    total = 0
    for _ in range(rounds):
        found = 0
        for b in range(active.size):
            i = np.int64(active[b])
            if made.members[made.groups[i], 0] == i:
                found += try_dissolve(made, made.groups[i], width, -least, records, homes)
            found += try_create(made, k, i, -least, records, homes)
            for r in range(width):
                j = np.int64(made.near[i, r])
                if made.groups[i] != made.groups[j]:
                    if try_move(made, k, i, made.groups[j], -least) or try_swap(made, i, j, -least):
                        found += 1
        total += found
        if found == 0:
            break
    return total
