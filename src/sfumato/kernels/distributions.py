"""Loops over value counts per class: how far the distribution in a class is from a reference.

Counts are compressed rows: class *i* has the values ``codes[starts[i]:starts[i+1]]``, each as often
as ``counts`` says. ``reference`` are the counts of all values in the reference table. Every loop
costs a few steps per entry, whatever the number of values the column has: what absent values
contribute is known beforehand. Codes of a class come in any order. Every class has records, and so
has the reference.

Distances come with a *pull*: a distance is the mean, over the records of a class, of a potential
that only depends on a record's value, and the pull is the largest potential among them. Dropping a
share *f* of the records therefore leaves at least ``(distance − f·pull)/(1 − f)``, which tells a
search how many must go.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.loop_cache import njit


@njit(cache=True, nogil=True)
def _total(values):
    """The sum of an array. A loop, since numpy's function would bring the linear algebra of scipy
    along whenever a loop is loaded.
    """
    total = 0
    for value in values:
        total += value
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def measure_total_variations(starts, codes, counts, reference):
    """Total variation distance of each class to the reference, and its pull: the sum of the
    differences of shares over the values that are more frequent in the class.
    """
    distances = np.empty(starts.size - 1, np.float64)
    pulls = np.empty(starts.size - 1, np.float64)
    total = _total(reference)
    for i in range(distances.size):
        size = 0
        for j in range(starts[i], starts[i + 1]):
            size += counts[j]
        # Differences of shares add up to zero, so half the sum of their absolute values is the sum
        # of the positive ones, all of which belong to values of the class.
        excess = 0.0
        pull = 1.0
        for j in range(starts[i], starts[i + 1]):
            share = reference[codes[j]] / total
            difference = counts[j] / size - share
            if difference > 0.0:
                excess += difference
                pull -= share
        distances[i] = excess
        pulls[i] = pull
    return distances, pulls


@njit(cache=True, nogil=True, error_model="numpy")
def find_ratio_ranges(starts, codes, counts, reference):
    """Smallest and largest ratio of a present value's share in the class to that in the reference,
    and completeness.

    The largest is inf when a value of the class is not in the reference; a class is complete when
    it has all values of the reference.
    """
    n = starts.size - 1
    smallest = np.empty(n, np.float64)
    largest = np.empty(n, np.float64)
    complete = np.empty(n, np.bool_)
    total = _total(reference)
    values = 0
    for code in range(reference.size):
        if reference[code] > 0:
            values += 1
    for i in range(n):
        size = 0
        for j in range(starts[i], starts[i + 1]):
            size += counts[j]
        shared = 0
        low = np.inf
        high = 0.0
        for j in range(starts[i], starts[i + 1]):
            expected = reference[codes[j]]
            if expected == 0:
                high = np.inf
                continue
            shared += 1
            ratio = (counts[j] * np.float64(total)) / (size * np.float64(expected))
            low = min(low, ratio)
            high = max(high, ratio)
        smallest[i] = low
        largest[i] = high
        complete[i] = shared == values
    return smallest, largest, complete


@njit(cache=True, nogil=True, error_model="numpy")
def measure_gains(starts, codes, counts, reference, tolerance):
    """Relative gain ``(q−p)/p`` of the value that gains most in each class; inf when one exceeds
    ``−ln p``.
    """
    gains = np.zeros(starts.size - 1, np.float64)
    total = np.float64(_total(reference))
    caps = np.empty(reference.size, np.float64)
    for code in range(reference.size):
        caps[code] = -np.log(reference[code] / total) if reference[code] else -1.0
    for i in range(gains.size):
        size = 0
        for j in range(starts[i], starts[i + 1]):
            size += counts[j]
        for j in range(starts[i], starts[i + 1]):
            expected = reference[codes[j]]
            gain = counts[j] * total / (size * np.float64(expected)) - 1.0 if expected else np.inf
            if gain > 0.0 and gain > caps[codes[j]] + tolerance:
                gains[i] = np.inf
            elif gain > gains[i]:
                gains[i] = gain
    return gains


@njit(cache=True, nogil=True, error_model="numpy")
def _steps_below(shares, share, begin, end):
    """First position from ``begin`` whose cumulative share exceeds ``share``, or ``end``: shares
    are ascending.
    """
    while begin < end:
        middle = (begin + end) // 2
        if shares[middle] > share:
            end = middle
        else:
            begin = middle + 1
    return begin


@njit(cache=True, nogil=True, error_model="numpy")
def measure_line_distances(starts, codes, counts, reference, rank_of_code, positions):
    """Earth mover's distance on a line (ordered or numeric values): the area between the cumulative
    distributions of each class and of the reference, over the range of positions; and its pull.

    ``rank_of_code[code]`` is the rank of a value, ``positions[rank]`` where it lies on the axis,
    ascending. Between two values of a class its cumulative share is constant and that of the
    reference ascends, so one binary search and two prefix sums give the area.
    """
    m = positions.size
    distances = np.zeros(starts.size - 1, np.float64)
    pulls = np.zeros(starts.size - 1, np.float64)
    span = positions[-1] - positions[0] if m else 0.0
    if span <= 0.0:
        return distances, pulls
    total = np.float64(_total(reference))
    # Prefix sums: shares[r] becomes the cumulative share up to rank r, areas[r] the area below it
    # left of rank r.
    shares = np.zeros(m, np.float64)
    for code in range(m):
        shares[rank_of_code[code]] = reference[code]
    running = 0.0
    for rank in range(m):
        running += shares[rank]
        shares[rank] = running / total
    areas = np.zeros(m, np.float64)
    for rank in range(m - 1):
        areas[rank + 1] = areas[rank] + shares[rank] * (positions[rank + 1] - positions[rank])
    amounts = np.zeros(m, np.int64)
    present = np.empty(m + 1, np.int64)
    for i in range(distances.size):
        size = 0
        width = 0
        # Insertion sort of the ranks of the class; from 24 values on a library sort is faster.
        for j in range(starts[i], starts[i + 1]):
            rank = rank_of_code[codes[j]]
            size += counts[j]
            amounts[rank] = counts[j]
            slot = width
            while slot > 0 and present[slot - 1] > rank and width < 24:
                present[slot] = present[slot - 1]
                slot -= 1
            present[slot] = rank
            width += 1
        if width >= 24:
            present[:width].sort()
        present[width] = m - 1
        # the class has less below its first value; `lead` integrates the sign of its lead,
        # `leading` that times P
        area = areas[present[0]]
        lead = positions[0] - positions[present[0]]
        leading = -area
        lowest_lead = lead
        before = 0
        for slot in range(width):
            begin = present[slot]
            end = present[slot + 1]
            before += amounts[begin]
            amounts[begin] = 0
            share = before / size
            turn = _steps_below(shares, share, begin, end)
            ahead = positions[turn] - positions[begin]
            behind = positions[end] - positions[turn]
            lowest_lead = min(lowest_lead, lead)
            lead += ahead - behind
            leading += (areas[turn] - areas[begin]) - (areas[end] - areas[turn])
            area += (
                share * (ahead - behind) - (areas[turn] - areas[begin]) + (areas[end] - areas[turn])
            )
        distances[i] = max(area, 0.0) / span
        pulls[i] = (lead - lowest_lead - leading) / span
    return distances, pulls


@njit(cache=True, nogil=True, error_model="numpy")
def measure_tree_distances(starts, codes, counts, reference, ancestors, nodes):
    """Earth mover's distance in a tree whose levels are equally far apart, the farthest leaves
    being 1 apart.

    ``ancestors[code]`` lists the nodes from a value up to below the top. Moving mass crosses the
    edge above a node as often as the node has too much or too little, so the distance is half the
    mean over levels of the absolute differences of node shares; nodes a class does not reach differ
    by their reference share.
    """
    height = ancestors.shape[1]
    total = np.float64(_total(reference))
    expected = np.zeros(nodes, np.float64)
    for code in range(reference.size):
        for level in range(height):
            expected[ancestors[code, level]] += reference[code] / total
    distances = np.empty(starts.size - 1, np.float64)
    pulls = np.empty(starts.size - 1, np.float64)
    amounts = np.zeros(nodes, np.int64)
    reached = np.empty(nodes, np.int64)
    signs = np.empty(nodes, np.int64)
    for i in range(distances.size):
        size = 0
        width = 0
        for j in range(starts[i], starts[i + 1]):
            size += counts[j]
            for level in range(height):
                node = ancestors[codes[j], level]
                if amounts[node] == 0:
                    reached[width] = node
                    width += 1
                amounts[node] += counts[j]
        # All nodes start as absent: each level then differs by the whole reference, 1. Nodes that
        # the class reaches replace their part.
        difference = np.float64(height)
        mean = -difference
        for slot in range(width):
            node = reached[slot]
            surplus = amounts[node] / size - expected[node]
            signs[node] = 1 if surplus > 0.0 else -1
            difference += abs(surplus) - expected[node]
            mean += (signs[node] + 1) * expected[node]
            amounts[node] = 0
        # The potential of a record is the sum of the signs of its nodes.
        largest = -height
        for j in range(starts[i], starts[i + 1]):
            potential = 0
            for level in range(height):
                potential += signs[ancestors[codes[j], level]]
            largest = max(largest, potential)
        distances[i] = max(difference, 0.0) / (2 * height)
        pulls[i] = (largest - mean) / (2 * height)
    return distances, pulls


# Loops over value counts per class: how diverse a class is, and what must go for it to be diverse
# enough.
#
# Counts are compressed rows: class *i* has the values ``codes[starts[i]:starts[i+1]]`` in any
# order, each as often as ``counts`` says. Every class has records.


@njit(cache=True, nogil=True, error_model="numpy")
def count_effective_values(starts, counts):
    """Exponential of each class's entropy (entropy l-diversity, Machanavajjhala et al. 2007): how
    many equally frequent values would be as diverse. Between 1 and the number of values, whatever
    rounding does.
    """
    diversities = np.empty(starts.size - 1, np.float64)
    for i in range(diversities.size):
        size = 0
        # entropy = ln size − Σ c ln c ∕ size
        weighted = 0.0
        for j in range(starts[i], starts[i + 1]):
            size += counts[j]
            if counts[j] > 1:
                weighted += counts[j] * np.log(np.float64(counts[j]))
        diversities[i] = min(
            max(size * np.exp(-weighted / size), 1.0), np.float64(starts[i + 1] - starts[i])
        )
    return diversities


@njit(cache=True, nogil=True, error_model="numpy")
def find_largest_shares(starts, codes, counts, protected):
    """Share of the most frequent protected value in each class; ``protected`` has one flag a
    value.
    """
    shares = np.empty(starts.size - 1, np.float64)
    for i in range(shares.size):
        size = 0
        largest = 0
        for j in range(starts[i], starts[i + 1]):
            size += counts[j]
            if protected[codes[j]] and counts[j] > largest:
                largest = counts[j]
        shares[i] = largest / size
    return shares


@njit(cache=True, nogil=True, error_model="numpy")
def compare_head_to_tail(starts, counts, rank):
    """Largest count of each class over the sum of its counts from the ``rank``-th largest on
    (recursive (c, l)-diversity); inf without these.
    """
    ratios = np.empty(starts.size - 1, np.float64)
    largest = np.zeros(max(1, rank - 1), np.int64)
    for i in range(ratios.size):
        size = 0
        largest[:] = 0
        for j in range(starts[i], starts[i + 1]):
            size += counts[j]
            value = counts[j]
            # Insert among the largest so far, in descending order.
            for position in range(largest.size):
                if value > largest[position]:
                    value, largest[position] = largest[position], value
        tail = size
        for position in range(rank - 1):
            tail -= largest[position]
        ratios[i] = largest[0] / tail if tail else np.inf
    return ratios


@njit(cache=True, nogil=True, error_model="numpy")
def find_recursive_ranks(starts, counts, factor, tolerance):
    """Highest rank *l* of each class at which its largest count is below ``factor`` times the tail
    from *l* on.
    """
    ranks = np.ones(starts.size - 1, np.int64)
    for i in range(ranks.size):
        ascending = np.sort(counts[starts[i] : starts[i + 1]])
        # The tail grows with every rank from the rarest value up, so the first rank that passes is
        # the highest.
        tail = 0
        for position in range(ascending.size - 1):
            tail += ascending[position]
            if ascending[-1] / tail < factor - tolerance:
                ranks[i] = ascending.size - position
                break
    return ranks


@njit(cache=True, nogil=True, error_model="numpy")
def count_least_removed(starts, codes, counts, ceilings, floors):
    """Fewest records each class must lose for the share of every value to lie between its floor and
    its ceiling.

    A ceiling of 1 or more and a floor of 0 limit nothing. A class that lacks a value with a floor
    must lose all.
    """
    removals = np.zeros(starts.size - 1, np.float64)
    floored = 0
    for code in range(floors.size):
        if floors[code] > 0.0:
            floored += 1
    for i in range(removals.size):
        size = 0
        for j in range(starts[i], starts[i + 1]):
            size += counts[j]
        # Dropping d records of a value of count c: (c − d) ∕ (size − d) ≤ ceiling ⇔ d ≥ (c −
        # ceiling · size) ∕ (1 − ceiling). With a floor, others go: c ∕ (size − d) ≥ floor ⇔ d ≥
        # size − c ∕ floor. Each is a lower bound, so the largest is one.
        present = 0
        for j in range(starts[i], starts[i + 1]):
            ceiling = ceilings[codes[j]]
            floor = floors[codes[j]]
            if ceiling < 1.0:
                removals[i] = max(removals[i], (counts[j] - ceiling * size) / (1.0 - ceiling))
            if floor > 0.0:
                present += 1
                removals[i] = max(removals[i], size - counts[j] / floor)
        if present < floored:
            removals[i] = size
    return removals


# Loops over mixtures of two-sided exponential densities: what Laplace noise makes of counts on a
# line.
#
# Points are numbered in ascending order; ``decay[j]`` is exp(−(x[j+1] − x[j])/scale). Densities are
# left without the factor 1/(2·scale), which cancels in every ratio. Sums run from point to point,
# so nothing overflows.


@njit(cache=True, nogil=True)
def mix_densities(mass, decay):
    """Density at every point when ``mass[j]`` values at point *j* get Laplace noise. Two linear
    passes: each carries the sum of what lies on one side, which decays from point to point.
    """
    m = mass.size
    density = np.empty(m, np.float64)
    carried = 0.0
    # From the left, with the point's own mass …
    for j in range(m):
        carried = mass[j] + (carried * decay[j - 1] if j else 0.0)
        density[j] = carried
    # … and from the right, without it.
    carried = 0.0
    for j in range(m - 2, -1, -1):
        carried = (carried + mass[j + 1]) * decay[j]
        density[j] += carried
    return density


@njit(cache=True, nogil=True)
def find_farthest_ratios(starts, points, counts, table, decay):
    """Per class, the largest ratio of its density to that of the table, either way round, at any
    point.

    Class *i* has ``counts`` at ``points``, in any order, from ``starts[i]`` to ``starts[i+1]``;
    ``table`` is the density of the table divided by its records.
    """
    classes = starts.size - 1
    ratios = np.ones(classes, np.float64)
    mass = np.zeros(table.size, np.float64)
    for i in range(classes):
        size = 0
        for entry in range(starts[i], starts[i + 1]):
            mass[points[entry]] += counts[entry]
            size += counts[entry]
        density = mix_densities(mass, decay)
        # Densities are mixtures of exponentials between the points, so ratios are extreme at a
        # point.
        worst = 1.0
        for j in range(table.size):
            class_density = density[j] / size
            table_density = table[j]
            if class_density == 0.0 and table_density == 0.0:
                continue
            if class_density == 0.0 or table_density == 0.0:
                worst = np.inf
                break
            worst = max(worst, class_density / table_density, table_density / class_density)
        ratios[i] = worst
        for entry in range(starts[i], starts[i + 1]):
            mass[points[entry]] = 0.0
    return ratios
