"""Loops of local recoding: cover records by cells of the hierarchies, borrow records, widen cells.

Arrays. ``codes[i, a]`` is the code of class *i* in column *a* at level 0, ``records[i]`` how many
records the class has. A *cell* is one hierarchy node per column. The cell of a class at given
levels is known by its *mark*, the exclusive or of one random 64-bit number per column:
``marks[offset + code]``, where ``offset`` belongs to a column and a level. Should two cells share a
mark, a region becomes wider than it need be, never wrong. A *region* is a cell that is released; a
*part* says that so many records of a class are in a region.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.loop_cache import njit

_CROWD = np.int64(-2)
_SHORT = np.int64(-3)


class CellMarks(NamedTuple):
    """The codes of all classes, and the numbers that the marks of their cells at some levels are
    made of.
    """

    codes: NDArray[np.int64]
    offsets: NDArray[np.int64]
    marks: NDArray[np.uint64]


class WaitingGroups(NamedTuple):
    """Room for groups of waiting classes: a hash table, the slot of each group in it, its mark and
    its records.

    ``group_of[p]`` is the group of the p-th class that waits, ``homes`` the region each group goes
    to.
    """

    table: NDArray[np.int32]
    slots: NDArray[np.uint64]
    marks: NDArray[np.uint64]
    sizes: NDArray[np.int64]
    group_of: NDArray[np.int64]
    homes: NDArray[np.int64]


class OpenRegions(NamedTuple):
    """Regions opened so far: a hash table of their numbers by mark, the mark of each, and its
    records and pledged records.
    """

    table: NDArray[np.int32]
    marks: NDArray[np.uint64]
    ledger: NDArray[np.int64]
    """(regions, 2)"""


class Hierarchies(NamedTuple):
    """The hierarchies of all columns in flat arrays; ``bases[column, level]`` is where the codes of
    a level begin.
    """

    climbs: NDArray[np.int64]
    """Per code at level 0, its node on a level."""
    costs: NDArray[np.float64]
    """What a cell with that node costs."""
    bases: NDArray[np.int64]
    high: NDArray[np.int64]
    """The highest level that a column may have."""


@njit(cache=True, nogil=True, inline="always")
def _mark(cells, i):
    """The mark of class *i*'s cell."""
    codes, offsets, marks = cells
    mark = np.uint64(0)
    # Zobrist hashing (1970): a random word a column and node, joined by exclusive or.
    for a in range(codes.shape[1]):
        mark ^= marks[offsets[a] + codes[i, a]]
    return mark


@njit(cache=True, nogil=True, inline="always")
def _find_slot(table, stored_marks, mark):
    """Where a mark stands in a hash table of indices into ``stored_marks``, or where it would be
    put.
    """
    mask = np.uint64(table.size - 1)
    # Marks are random already: one shift mixes upper bits in.
    s = (mark ^ (mark >> np.uint64(29))) & mask
    while table[s] >= 0 and stored_marks[table[s]] != mark:
        s = (s + np.uint64(1)) & mask
    return s


@njit(cache=True, nogil=True)
def _group(cells, waiting_records, active, count, groups):
    """Group the records still waiting by their cell; returns how many groups there are."""
    table, slots, group_marks, sizes, group_of, _ = groups
    group_count = 0
    # One probe a waiting class and a look-up a column.
    for p in range(count):
        i = active[p]
        mark = _mark(cells, i)
        s = _find_slot(table, group_marks, mark)
        if table[s] < 0:
            table[s] = group_count
            slots[group_count] = s
            group_marks[group_count] = mark
            sizes[group_count] = 0
            group_count += 1
        group_of[p] = table[s]
        sizes[table[s]] += waiting_records[i]
    return group_count


@njit(cache=True, nogil=True)
def group_cells(codes, waiting_records, waiting, offsets, marks):
    """The group of every waiting class, by its cell, and how many records each group has."""
    slots = 16
    while slots < 2 * waiting.size + 2:
        slots *= 2
    table = np.full(slots, np.int32(-1), np.int32)
    group_slots = np.empty(waiting.size, np.uint64)
    group_marks = np.empty(waiting.size, np.uint64)
    sizes = np.empty(waiting.size, np.int64)
    group_of = np.empty(waiting.size, np.int64)
    groups = WaitingGroups(table, group_slots, group_marks, sizes, group_of, group_of)
    group_count = _group(
        CellMarks(codes, offsets, marks), waiting_records, waiting, waiting.size, groups
    )
    return group_of, sizes[:group_count].copy()


@njit(cache=True, nogil=True)
def _assign_homes(group_count, groups, k, minimum, opened):
    """Decide where each group may go: an open region, a new one, a new one if it can borrow, or
    nowhere yet. Returns whether any group has a place, and whether any could borrow.
    """
    group_marks = groups.marks
    sizes = groups.sizes
    homes = groups.homes
    served = False
    short = False
    # An open region is free for everybody: joining it costs nobody anything.
    for g in range(group_count):
        homes[g] = opened.table[_find_slot(opened.table, opened.marks, group_marks[g])]
        if homes[g] >= 0:
            served = True
        elif sizes[g] >= k:
            homes[g] = _CROWD
            served = True
        elif sizes[g] >= minimum:
            homes[g] = _SHORT
            short = True
    return served, short


@njit(cache=True, nogil=True)
def _borrow(cells, k, groups, parts, lending, ledger, loans):
    """Promise short groups records of regions that have more than k; latest regions, which cost
    most, lend first.

    ``lending`` is ``lenders, begin, end``: ``lenders[begin:end]`` are parts that may have something
    to spare; those that have not are taken out for good. ``ledger`` holds the sizes of the regions
    and what they have pledged. ``loans`` receives (part, group, amount), as many as it has room
    for; what is promised is taken from the lender at once. Returns the new ``begin`` and the number
    of loans.
    """
    table, _, group_marks, sizes, _, homes = groups
    part_class, part_region, part_amount = parts
    lenders, begin, end = lending
    room = loans.shape[0]
    loan_count = 0
    new_begin = end
    # Latest first: events go by rising cost, so those regions gain most by giving records away.
    # Lenders that are used up are squeezed out on the way, which pays for the walk.
    for j in range(end - 1, begin - 1, -1):
        p = lenders[j]
        region = part_region[p]
        # Neither now nor after loans come back can it spare a record.
        if part_amount[p] == 0 or ledger[region, 0] + ledger[region, 1] <= k:
            continue
        new_begin -= 1
        lenders[new_begin] = p
        spare = ledger[region, 0] - k
        if spare <= 0 or loan_count >= room:
            continue
        # A lender helps only the group of its own cell at these levels, up to k records.
        g = table[_find_slot(table, group_marks, _mark(cells, part_class[p]))]
        if g < 0 or homes[g] != _SHORT or sizes[g] >= k:
            continue
        amount = min(k - sizes[g], spare, part_amount[p])
        sizes[g] += amount
        part_amount[p] -= amount
        ledger[region, 0] -= amount
        ledger[region, 1] += amount
        loans[loan_count, 0] = p
        loans[loan_count, 1] = g
        loans[loan_count, 2] = amount
        loan_count += 1
    return new_begin, loan_count


@njit(cache=True, nogil=True)
def _settle_loans(loans, loan_count, sizes, k, parts, ledger):
    """Give back what was promised to groups that did not get enough; says whether any group did."""
    part_region = parts[1]
    part_amount = parts[2]
    any_good = False
    # A loan is undone by adding back what was taken: no copy of the ledger is needed.
    for j in range(loan_count):
        p, g, amount = loans[j]
        ledger[part_region[p], 1] -= amount
        if sizes[g] >= k:
            any_good = True
        else:
            part_amount[p] += amount
            ledger[part_region[p], 0] += amount
            loans[j, 2] = 0
    return any_good


@njit(cache=True, nogil=True)
def _open_regions(group_count, groups, k, regions, opened):
    """Open a region for every group that is, or has become, large enough; returns the number of
    regions.
    """
    group_marks = groups.marks
    sizes = groups.sizes
    homes = groups.homes
    ledger = opened.ledger
    # Marks go into the table of open regions, so that later events find them.
    for g in range(group_count):
        if homes[g] == _CROWD or (homes[g] == _SHORT and sizes[g] >= k):
            opened.table[_find_slot(opened.table, opened.marks, group_marks[g])] = regions
            opened.marks[regions] = group_marks[g]
            ledger[regions, 0] = 0
            ledger[regions, 1] = 0
            homes[g] = regions
            regions += 1
    return regions


@njit(cache=True, nogil=True)
def _fill_regions(active, groups, waiting_records, loans, parts, used, ledger):
    """Move waiting and lent records to their regions; returns how many classes still wait and the
    parts used.
    """
    part_class, part_region, part_amount = parts
    group_of = groups.group_of
    homes = groups.homes
    waiting = 0
    # In place: those who wait move to the front and keep their order.
    for p in range(active.size):
        i = active[p]
        home = homes[group_of[p]]
        if home < 0:
            active[waiting] = i
            waiting += 1
            continue
        part_class[used] = i
        part_region[used] = home
        part_amount[used] = waiting_records[i]
        ledger[home, 0] += waiting_records[i]
        waiting_records[i] = 0
        used += 1
    # Loans that were settled become parts of their own.
    for j in range(loans.shape[0]):
        if loans[j, 2] > 0:
            home = homes[loans[j, 1]]
            part_class[used] = part_class[loans[j, 0]]
            part_region[used] = home
            part_amount[used] = loans[j, 2]
            ledger[home, 0] += loans[j, 2]
            used += 1
    return waiting, used


@njit(cache=True, nogil=True)
def cover_records(codes, records, k, nodes, minima, bases, marks):
    """Cover all records by cells of at least k, the cheapest cells first.

    Event *e* looks at the cells of ``nodes[e]``: waiting records join a cell that is open already,
    k or more of them open a new one, and ``minima[e]`` or more open one with records that regions
    above k can spare. Returns class, region and amount of every part. An event costs the classes
    that still wait.
    """
    n, m = codes.shape
    waiting_records = records.copy()
    active = np.empty(n, np.int64)
    count = 0
    # A loop, since numpy's function would bring the linear algebra of scipy along whenever this one
    # is loaded.
    for i in range(n):
        if waiting_records[i] > 0:
            active[count] = i
            count += 1
    # Parts beyond the classes are loans: when there are that many, nothing is lent any more.
    limit = 4 * n + 16
    parts = (np.empty(limit, np.int64), np.empty(limit, np.int64), np.empty(limit, np.int64))
    slots = 16
    while slots < 2 * n + 2:
        slots *= 2
    region_slots = np.full(slots, np.int32(-1), np.int32)
    tables = np.full(slots, np.int32(-1), np.int32)
    region_marks = np.empty(n + 1, np.uint64)
    ledger = np.empty((n + 1, 2), np.int64)
    opened = OpenRegions(region_slots, region_marks, ledger)
    group_slots = np.empty(n + 1, np.uint64)
    group_marks = np.empty(n + 1, np.uint64)
    sizes = np.empty(n + 1, np.int64)
    group_of = np.empty(n + 1, np.int64)
    homes = np.empty(n + 1, np.int64)
    loans = np.empty((limit, 3), np.int64)
    lenders = np.arange(limit)
    offsets = np.empty(m, np.int64)
    cells = CellMarks(codes, offsets, marks)
    regions = used = begin = loan_count = 0
    # Greedy by rising cost of cells: an event costs the classes that still wait, and these get
    # fewer.
    for e in range(nodes.shape[0]):
        if count == 0:
            break
        for a in range(m):
            offsets[a] = bases[a, nodes[e, a]]
        while slots > 32 and slots >= 4 * count:
            slots //= 2
        # As small as can be: it stays in the cache.
        table = tables[:slots]
        groups = WaitingGroups(table, group_slots, group_marks, sizes, group_of, homes)
        group_count = _group(cells, waiting_records, active, count, groups)
        served, short = _assign_homes(group_count, groups, k, minima[e], opened)
        loan_count = 0
        if short:
            begin, loan_count = _borrow(
                cells,
                k,
                groups,
                parts,
                (lenders, begin, used),
                ledger,
                loans[: max(0, limit - used - count)],
            )
            if _settle_loans(loans, loan_count, sizes, k, parts, ledger):
                served = True
        if served:
            regions = _open_regions(group_count, groups, k, regions, opened)
            count, used = _fill_regions(
                active[:count], groups, waiting_records, loans[:loan_count], parts, used, ledger
            )
        # Only slots that were used: clearing all would cost more than grouping the few who wait.
        for g in range(group_count):
            table[group_slots[g]] = np.int32(-1)
    return parts[0][:used], parts[1][:used], parts[2][:used]


@njit(cache=True, nogil=True)
def find_common_levels(codes, part_class, starts, climbs, bases, low, high):
    """Per region and column, the lowest level at which all its records agree; region *z* has the
    parts ``starts[z] … starts[z + 1] − 1``.

    A level above ``high`` says that they do not agree where they may.
    """
    m = codes.shape[1]
    levels = np.empty((starts.size - 1, m), np.int64)
    for z in range(starts.size - 1):
        first = part_class[starts[z]]
        for a in range(m):
            level = low[a]
            # All agree with the first record, so all agree: hierarchies are trees. The level only
            # rises, so a column costs its records plus its levels.
            for p in range(starts[z] + 1, starts[z + 1]):
                first_code = codes[first, a]
                code = codes[part_class[p], a]
                while (
                    level <= high[a]
                    and climbs[bases[a, level] + first_code] != climbs[bases[a, level] + code]
                ):
                    level += 1
            levels[z, a] = level
    return levels


@njit(cache=True, nogil=True)
def price_widened_cells(codes, i, levels, members, hierarchies):
    """Cost of the cell of each region once record *i* belongs to it too; infinite where that may
    not be. ``members`` has one record per region, whose codes stand for all.
    """
    climbs, costs, bases, high = hierarchies
    m = codes.shape[1]
    cell_costs = np.empty(members.size, np.float64)
    for z in range(members.size):
        cost = 0.0
        for a in range(m):
            own_code = codes[i, a]
            code = codes[members[z], a]
            level = levels[z, a]
            # The level at which two codes meet is no lower than that of the region.
            while (
                level <= high[a]
                and climbs[bases[a, level] + own_code] != climbs[bases[a, level] + code]
            ):
                level += 1
            if level > high[a]:
                cost = np.inf
                break
            cost += costs[bases[a, level] + own_code]
        cell_costs[z] = cost
    return cell_costs
