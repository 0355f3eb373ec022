"""Naive definitions, straight from the papers: slow, short, and with nothing in common with what
they check.

A table is a list of rows, a row a tuple of labels, None a missing value. Append only: others lean
on what is here.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product

# ------------------------------------------------------------------------------- classes and levels
# ``paths`` has one mapping a column: value -> (value, label of level 1, ..., top). A column without
# a hierarchy has paths of length one.

TOP = "*"


def released_label(value, path_of, level, depth):
    """A value at a level: missing stays missing below the top and joins it there."""
    if value is None:
        return TOP if depth > 1 and level == depth - 1 else None
    return path_of[value][level]


def generalised(rows, paths, depths, node):
    """Every row at the levels of a node."""
    return [
        tuple(
            released_label(v, p, lv, d)
            for v, p, lv, d in zip(row, paths, node, depths, strict=True)
        )
        for row in rows
    ]


def class_sizes(rows):
    """Rows per combination of values: what k-anonymity is about (Samarati & Sweeney 1998)."""
    return Counter(rows)


def class_persons(rows, persons):
    """Distinct persons per combination of values."""
    members = {}
    for row, person in zip(rows, persons, strict=True):
        members.setdefault(row, set()).add(person)
    return {row: len(who) for row, who in members.items()}


def suppressed_rows(rows, k):
    """Which rows stand in a class smaller than k."""
    sizes = class_sizes(rows)
    return [sizes[row] < k for row in rows]


def compatible(one, other, wildcard):
    """Whether two rows agree where neither has a missing value in a wildcard column."""
    return all(
        a == b or (w and (a is None or b is None))
        for a, b, w in zip(one, other, wildcard, strict=True)
    )


def compatible_rows(rows, wildcard):
    """Per row, the rows it could be: the count of sdcMicro and mu-Argus."""
    return [sum(compatible(one, other, wildcard) for other in rows) for one in rows]


# --------------------------------------------------------------------------------- scores of a node
# ``leaves`` has one mapping a column and level: label -> leaves of the hierarchy below it.


def cell_losses(rows, paths, leaves, depths, node, gone):
    """Iyengar's loss, (leaves-1)/(all leaves-1), cell by cell; the cells of a suppressed row lose
    everything.
    """
    columns = []
    for a, level in enumerate(node):
        total = leaves[a][-1][TOP] if depths[a] > 1 else 0
        losses = []
        for row, lost in zip(rows, gone, strict=True):
            label = released_label(row[a], paths[a], level, depths[a])
            if lost:
                losses.append(1.0)
            elif label is None or depths[a] == 1 or total <= 1:
                losses.append(0.0)
            else:
                losses.append((leaves[a][level][label] - 1) / (total - 1))
        columns.append(losses)
    return columns


def height_losses(rows, depths, node, gone):
    """Level over height, cell by cell; a suppressed row stands at the top."""
    return [
        [1.0 if lost else level / max(1, d - 1) for lost in gone]
        for level, d in zip(node, depths, strict=True)
    ]


def entropy_lost(rows, paths, depths, node, gone):
    """Bits lost per column, -log2(n_v/n_g) cell by cell, over the bits that suppressing all of it
    would lose.
    """
    shares = []
    for a, level in enumerate(node):
        before = Counter(row[a] for row in rows)
        after = Counter(released_label(row[a], paths[a], level, depths[a]) for row in rows)
        bits = most = 0.0
        for row, lost in zip(rows, gone, strict=True):
            group = len(rows) if lost else after[released_label(row[a], paths[a], level, depths[a])]
            bits -= math.log2(before[row[a]] / group)
            most -= math.log2(before[row[a]] / len(rows))
        # a column with one single value has nothing to lose; its suppressed cells cost 1 as
        # everywhere
        shares.append(bits / most if most > 0 else sum(gone) / len(rows))
    return shares


def discernibility(sizes, suppressed, rows):
    """C_DM of Bayardo & Agrawal 2005: squared class sizes, and N for every suppressed row."""
    return sum(n * n for n in sizes) + suppressed * rows


def certainty_penalties(rows, paths, leaves, depths, node, gone):
    """Mean certainty penalty of each column's cells: leaves over all leaves from two on, 1 for a
    suppressed row.
    """
    means = []
    for a, level in enumerate(node):
        total, cells = leaves[a][-1].get(TOP, 1) if depths[a] > 1 else 1, 0.0
        for row, lost in zip(rows, gone, strict=True):
            label = released_label(row[a], paths[a], level, depths[a])
            under = 1 if label is None or depths[a] == 1 else leaves[a][level][label]
            cells += 1.0 if lost else under / total if under > 1 else 0.0
        means.append(cells / len(rows))
    return means


def values_meant(rows, paths, leaves, depths, node, a, row):
    """How many values the cell of a row may stand for, missing being one more at the top; without
    ``row``, all there are.
    """
    missing = any(r[a] is None for r in rows)
    if depths[a] == 1:
        return 1 if row is not None else max(1, len({r[a] for r in rows}))
    level = node[a] if row is not None else depths[a] - 1
    label = TOP if row is None else released_label(row[a], paths[a], level, depths[a])
    if label is None:
        return 1
    return max(1, leaves[a][level][label] + (missing if level == depths[a] - 1 else 0))


def ambiguity(rows, paths, leaves, depths, node, gone):
    """Logarithm of the mean number of combinations that a row may stand for, over that of all
    combinations.
    """
    known = (rows, paths, leaves, depths, node)
    every = math.prod(values_meant(*known, a, None) for a in range(len(node)))
    mean = sum(
        every if lost else math.prod(values_meant(*known, a, row) for a in range(len(node)))
        for row, lost in zip(rows, gone, strict=True)
    ) / len(rows)
    return math.log(mean) / math.log(every) if every > 1 else 0.0


def divergence(rows, paths, leaves, depths, node, gone):
    """Bits from the distribution of the original rows to that which spreads released rows over what
    they may stand for.
    """
    known, n = (rows, paths, leaves, depths, node), len(rows)
    every = math.prod(values_meant(*known, a, None) for a in range(len(node)))
    labels = generalised(rows, paths, depths, node)
    kept = Counter(label for label, lost in zip(labels, gone, strict=True) if not lost)
    total = 0.0
    for row, count in Counter(rows).items():
        label = labels[rows.index(row)]
        box = math.prod(values_meant(*known, a, row) for a in range(len(node)))
        total += count / n * math.log2(count / n / (kept[label] / n / box + sum(gone) / n / every))
    return total


def misclassified(rows, paths, depths, node, gone, labels):
    """Share of rows that are suppressed or have another label than most of their class."""
    classes = {}
    for key, lost, label in zip(generalised(rows, paths, depths, node), gone, labels, strict=True):
        if not lost:
            classes.setdefault(key, Counter())[label] += 1
    return (len(rows) - sum(max(counts.values()) for counts in classes.values())) / len(rows)


def node_scores(rows, paths, leaves, depths, node, gone, weights):
    """Every objective of a node, by name."""
    n = len(rows)
    share = [w / sum(weights) for w in weights]
    kept = class_sizes(
        [
            r
            for r, lost in zip(generalised(rows, paths, depths, node), gone, strict=True)
            if not lost
        ]
    )
    losses = [sum(column) / n for column in cell_losses(rows, paths, leaves, depths, node, gone)]
    heights = [sum(column) / n for column in height_losses(rows, depths, node, gone)]
    bits = entropy_lost(rows, paths, depths, node, gone)
    return {
        "loss": sum(w * x for w, x in zip(share, losses, strict=True)),
        "loss_geometric": math.prod((1 + x) ** w for w, x in zip(share, losses, strict=True)) - 1,
        "precision": sum(w * x for w, x in zip(share, heights, strict=True)),
        "height": sum(
            w * level / max(1, d - 1) for w, level, d in zip(share, node, depths, strict=True)
        ),
        "entropy": sum(w * x for w, x in zip(share, bits, strict=True)),
        "ncp": sum(
            w * x
            for w, x in zip(
                share, certainty_penalties(rows, paths, leaves, depths, node, gone), strict=True
            )
        ),
        "ambiguity": ambiguity(rows, paths, leaves, depths, node, gone),
        "kl_divergence": divergence(rows, paths, leaves, depths, node, gone),
        "class_size": (n - sum(gone)) / len(kept) if kept else float(n),
        "discernibility": discernibility(kept.values(), sum(gone), n),
        "minimum_absolute_distance": sum(node),
        "minimum_relative_distance": sum(
            level / max(1, d - 1) for level, d in zip(node, depths, strict=True)
        ),
        "maximum_distribution": -len(kept),
        "minimum_suppression": sum(gone),
    }


def all_nodes(low, high):
    """Every node between two."""
    return product(*(range(lo, hi + 1) for lo, hi in zip(low, high, strict=True)))


def minimal_nodes(nodes):
    """The nodes that have no other one at or below them in every column."""
    return {
        node
        for node in nodes
        if not any(
            other != node and all(a <= b for a, b in zip(other, node, strict=True))
            for other in nodes
        )
    }


# --------------------------------------------------------------------------------------------- risk


def unique_rows(rows, columns):
    """Rows whose values in some columns nobody else has."""
    keys = [tuple(row[c] for c in columns) for row in rows]
    sizes = Counter(keys)
    return sum(sizes[key] == 1 for key in keys)


def exposing_sets(rows, width):
    """The smallest sets of columns on which some row is unique, each with the number of unique
    rows.
    """
    for size in range(1, width + 1):
        found = {c: n for c in combinations(range(width), size) if (n := unique_rows(rows, c))}
        if found:
            return found
    return {}


# -------------------------------------------------------------- sensitive values of a class: counts
# ``counts`` and ``table`` say how often each value occurs in one class and in the whole table, in
# the same order.


def shares(counts):
    """Counts as a distribution."""
    return [n / sum(counts) for n in counts]


def distinct_values(counts):
    """Number of different values."""
    return sum(n > 0 for n in counts)


def effective_values(counts):
    """exp of Shannon's entropy: entropy l-diversity holds up to this l (Machanavajjhala et al.
    2007).
    """
    return math.exp(-sum(q * math.log(q) for q in shares(counts) if q))


def recursively_diverse(counts, c, l):  # noqa: E741
    """Recursive (c, l)-diversity: r1 < c (rl + ... + rm), counts in descending order; 1-diversity
    always holds.
    """
    ranked = sorted((n for n in counts if n), reverse=True)
    return l == 1 or (len(ranked) >= l and ranked[0] < c * sum(ranked[l - 1 :]))


def largest_share(counts, protected):
    """Share of the most frequent protected value: (alpha, k)-anonymity bounds it (Wong et al.
    2006).
    """
    return max(
        [q for q, guarded in zip(shares(counts), protected, strict=True) if guarded], default=0.0
    )


def earth_movers_distance(counts, table, ground):
    """Least work that turns one distribution into the other; ``ground[i][j]`` is the way from value
    i to j.

    The definition itself, as a linear program: this is what every closed form must equal.
    """
    from scipy.optimize import linprog

    m = len(counts)
    sent = [[1.0 if i == row else 0.0 for i in range(m) for _ in range(m)] for row in range(m)]
    received = [[1.0 if j == row else 0.0 for _ in range(m) for j in range(m)] for row in range(m)]
    found = linprog(
        [d for row in ground for d in row],
        A_eq=sent + received,
        b_eq=shares(counts) + shares(table),
    )
    assert found.status == 0
    return found.fun


def equal_ground(m):
    """Any two values are equally far apart."""
    return [[float(i != j) for j in range(m)] for i in range(m)]


def numeric_ground(positions):
    """Values lie on a line, the outermost 1 apart."""
    span = max(positions) - min(positions)
    return [[abs(one - other) / span for other in positions] for one in positions]


def tree_ground(paths):
    """Values are as far apart as the lowest label they share is high, the top being at 1."""
    height = len(paths[0]) - 1
    return [
        [
            next(level for level in range(height + 1) if one[level] == other[level]) / height
            for other in paths
        ]
        for one in paths
    ]


def multiplicative_distance(counts, table):
    """Largest ratio of shares in either direction; infinite for a value that only one of them
    has.
    """
    worst = 1.0
    for q, p in zip(shares(counts), shares(table), strict=True):
        if q != p:
            worst = max(worst, q / p, p / q) if q and p else math.inf
    return worst


def disclosure(counts, table, *, skip_absent=False):
    """Largest |ln(q/p)|: delta-disclosure privacy needs it below delta (Brickell & Shmatikov
    2008).
    """
    pairs = zip(shares(counts), shares(table), strict=True)
    return max(
        abs(math.log(q / p)) if q else math.inf for q, p in pairs if p and (q or not skip_absent)
    )


def like(counts, table, beta, *, enhanced=False):
    """Beta-likeness: no value with q > p gains more than beta (enhanced: nor -ln p), relative to p
    (Cao & Karras 2012).
    """
    for q, p in zip(shares(counts), shares(table), strict=True):
        limit = min(beta, -math.log(p)) if enhanced else beta
        if q > p and (q - p) / p > limit + 1e-9:
            return False
    return True


def merged(classes, groups):
    """Classes after class i joined group ``groups[i]``, value by value; empty groups are left
    out.
    """
    sums = {}
    for counts, group in zip(classes, groups, strict=True):
        sums[group] = [
            a + b for a, b in zip(sums.get(group, [0] * len(counts)), counts, strict=True)
        ]
    return [sums[group] for group in sorted(sums)]


# ---------------------------------------------------------------- populations, pairs and thresholds


def covers(label, value, path_of):
    """Whether a released label generalises a value: it is on the value's path; missing generalises
    missing only.
    """
    if value is None:
        return label is None or label == TOP
    return label == TOP or label in path_of[value]


def row_covers(released, original, paths):
    """Whether every cell of a released row generalises that of an original one."""
    return all(
        covers(label, value, path)
        for label, value, path in zip(released, original, paths, strict=True)
    )


def population_matches(released, population, paths):
    """Per released row, the rows of the population it generalises: the F of k-map (Sweeney
    2002).
    """
    return [sum(row_covers(row, other, paths) for other in population) for row in released]


def surely_in_population(size, fraction, confidence):
    """The largest k for which a population class smaller than k is refuted by ``size`` sampled
    records.
    """
    k = size
    while True:  # would k people give so few records, each sampled with the same chance?
        fewer = sum(math.comb(k, i) * fraction**i * (1 - fraction) ** (k - i) for i in range(size))
        if fewer < confidence - 1e-9:
            return k
        k += 1


def smallest_group(rows, columns_known):
    """Per row, the smallest number of rows that share its values on any of these sets of
    columns.
    """
    least = [len(rows)] * len(rows)
    for columns in columns_known:
        keys = [tuple(row[c] for c in columns) for row in rows]
        sizes = Counter(keys)
        least = [min(a, sizes[key]) for a, key in zip(least, keys, strict=True)]
    return least


def fewest_dropped(classes, holds):
    """Fewest records that go with whole classes so that ``holds(the rest)``, by trying every set of
    classes.

    ``classes`` are sizes, or tuples that begin with the number of records.
    """
    records = [c[0] if isinstance(c, tuple) else c for c in classes]
    chosen = product([False, True], repeat=len(classes))
    return min(
        sum(n for n, gone in zip(records, drop, strict=True) if gone)
        for drop in chosen
        if holds([c for c, gone in zip(classes, drop, strict=True) if not gone])
    )


def perfect_matchings(originals, released, paths):
    """All ways to give every original a released row that generalises it."""
    fits = [[row_covers(y, x, paths) for y in released] for x in originals]

    def extend(given):
        if len(given) == len(originals):
            yield tuple(given)
            return
        for y in range(len(released)):
            if y not in given and fits[len(given)][y]:
                yield from extend([*given, y])

    return extend([])


def match_counts(originals, released, paths):
    """Per original, the released rows it has in some perfect matching (Tassa, Mazza & Gionis
    2012).
    """
    found = [set() for _ in originals]
    for matching in perfect_matchings(originals, released, paths):
        for x, y in enumerate(matching):
            found[x].add(y)
    return [len(ys) for ys in found]


def mean_of_one_over_population(f, total, terms=20_000):
    """E[1/F | f] as the series over F, each of the f sampled with chance f/total (Benedetti &
    Franconi 1998).
    """
    p = f / total
    if p >= 1:
        return 1 / f

    def chance(h):
        ways = math.lgamma(h) - math.lgamma(f) - math.lgamma(h - f + 1)
        return math.exp(ways + f * math.log(p) + (h - f) * math.log(1 - p))

    return sum(chance(h) / h for h in range(f, f + terms))


def zayatz_uniques(sizes, population):
    """Sample uniques, times the chance that one is unique in the population, scaled up (Zayatz
    1991).
    """
    n = sum(sizes)

    def drawn_once(i):
        return i * math.comb(population - i, n - 1) / math.comb(population, n)

    unique = sizes.count(1)
    return unique * unique * drawn_once(1) / sum(drawn_once(i) for i in sizes) * population / n


def pitman_log_likelihood(sizes, theta, alpha):
    """Pitman's sampling formula without the part that no parameter changes (Hoshino 2001)."""
    n, u = sum(sizes), len(sizes)
    found = sum(math.log(theta + i * alpha) for i in range(1, u)) - sum(
        math.log(theta + i) for i in range(1, n)
    )
    return found + sum(math.log(j - alpha) for size in sizes for j in range(1, size))


def laplace_density(values, scale, x):
    """Density at x of values that each got Laplace noise."""
    return sum(math.exp(-abs(x - c) / scale) / (2 * scale) for c in values) / len(values)


def multiplicative(one, other):
    """The larger of two ratios; 0/0 says nothing, x/0 everything."""
    if one == 0 or other == 0:
        return 1.0 if one == other else math.inf
    return max(one / other, other / one)


def randomised(values, matrix):
    """Distribution of values after each became another with the chances of its row."""
    chances = Counter()
    for value in values:
        for after, chance in matrix[value].items():
            chances[after] += chance / len(values)
    return chances


# ----------------------------------------------------------------------- columns that expose people


def unique_shares(rows, width):
    """Each column's Shapley value in the share of unique rows: its gain, averaged over all orders
    of learning columns.
    """
    gains = [0.0] * width
    orders = list(permutations(range(width)))
    for order in orders:
        known = []
        for column in order:
            before = unique_rows(rows, known) if known else 0
            known.append(column)
            gains[column] += unique_rows(rows, known) - before
    return [gain / len(orders) / len(rows) for gain in gains]


def rows_of_lonely_persons(rows, persons, columns):
    """Rows whose values in some columns only one person has."""
    who = {}
    for row, person in zip(rows, persons, strict=True):
        who.setdefault(tuple(row[c] for c in columns), set()).add(person)
    return sum(len(who[tuple(row[c] for c in columns)]) == 1 for row in rows)


# ------------------------------------------------------------- cutting and joining (local recoding)
# A dimension is ("line", {value: place}, span), ("tree", {value: path}, [{label: leaves} a level])
# or ("set", values). Missing values come last in every order, and a cell of missing and other
# values loses everything.


def covering_loss(dimension, values):
    """Iyengar's loss of the narrowest cell that covers some values (LeFevre's normalised range)."""
    form, known, more = dimension
    present = {v for v in values if v is not None}
    if form == "tree":
        paths = [tree_path(v, known) for v in set(values)]
        level = next(
            i for i, labels in enumerate(zip(*paths, strict=True)) if len(set(labels)) == 1
        )
        total, label = more[-1][TOP], paths[0][level]
        return 0.0 if label is None or total <= 1 else (more[level][label] - 1) / (total - 1)
    if not present or len(set(values)) == 1:
        return 0.0
    if None in values:
        return 1.0
    if form == "line":
        width = max(line_cell(known, v)[2] for v in present) - min(
            line_cell(known, v)[1] for v in present
        )
        return min(1.0, width / more) if more else 0.0
    return (len(present) - 1) / (len([v for v in known if v is not None]) - 1)


def line_cell(known, value):
    """Where a value lies on a line, and the limits of its cell as a label states them; a bare place
    is its own cell.
    """
    return known[value] if isinstance(known[value], tuple) else (known[value],) * 3


def default_step(numbers):
    """The least of 1, 2, 5 times a power of ten that is a tenth of the interquartile range of
    different numbers; 1 for whole ones.
    """
    ordered = sorted(numbers)
    whole = all(isinstance(number, int) for number in ordered)
    steps = [Fraction(m) * Fraction(10) ** e for e in range(-9, 9) for m in (1, 2, 5)]
    lower, upper = (_quantile(ordered, share) for share in (Fraction(1, 4), Fraction(3, 4)))
    least = max((upper - lower) / 10, Fraction(1 if whole else 0))
    return next((step for step in steps if least and step >= least), Fraction(1))


def _quantile(ordered, share):
    at = share * (len(ordered) - 1)
    below = math.floor(at)
    rest = Fraction(repr(ordered[min(below + 1, len(ordered) - 1)])) - Fraction(
        repr(ordered[below])
    )
    return Fraction(repr(ordered[below])) + (at - below) * rest


def cells_of_numbers(values, step=None):
    """Per text the number it is, and the limits of the cell of the grid around it; whole cells end
    at their last number.
    """
    numbers = {text: int(text) if text.lstrip("-").isdecimal() else float(text) for text in values}
    if not numbers:
        return {}
    step = default_step(set(numbers.values())) if step is None else Fraction(str(step))
    last = (
        1
        if step.denominator == 1 and all(isinstance(number, int) for number in numbers.values())
        else 0
    )
    found = {}
    for text, number in numbers.items():
        start = Fraction(repr(number)) // step * step
        found[text] = (float(number), float(start), float(start + step - last))
    return found


def tree_path(value, paths):
    """The way up from a value; a missing value meets the others at the top."""
    depth = len(next(iter(paths.values()))) if paths else 2
    return paths[value] if value is not None else (None,) * (depth - 1) + (TOP,)


def in_order(dimension, values):
    """Different values as a cut goes through them."""
    form, known, _ = dimension
    keys = {
        "line": lambda v: (line_cell(known, v)[0], v),
        "tree": lambda v: known[v][::-1],
        "set": lambda v: v,
    }
    present = sorted({v for v in values if v is not None}, key=keys[form])
    return present + [None] * (None in values)


def tree_children(dimension, values):
    """The values below each child of the node above all of them, children in depth-first order."""
    paths = {v: tree_path(v, dimension[1]) for v in set(values)}
    level = next(
        i for i, labels in enumerate(zip(*paths.values(), strict=True)) if len(set(labels)) == 1
    )
    found = {}
    for value in in_order(dimension, values):
        found.setdefault(paths[value][level - 1], set()).add(value)
    return list(found.values())


def frequent_value(dimension, column):
    """The most frequent of the values that share their cell with another value of the table, the
    first of equal ones; None without any.
    """
    cells = Counter(line_cell(dimension[1], v)[1:] for v in dimension[1])
    crowded = [
        v
        for v in in_order(dimension, column)
        if v is not None and cells[line_cell(dimension[1], v)[1:]] > 1
    ]
    count = Counter(column)
    return max(crowded, key=lambda v: count[v]) if crowded else None


def mondrian_cuts(dimension, column, crowd, children, off_cell=False):
    """Left sides, as sets of values, in the order in which they are tried: ``column`` has one value
    a record.
    """
    value = frequent_value(dimension, column) if dimension[0] == "line" else None
    heavy = value is not None and 2 * Counter(column)[value] >= len(column)
    if off_cell:
        return [{value}] if value is not None and not heavy else []
    count, values = Counter(column), in_order(dimension, column)
    n, lefts = len(column), [{value}] if heavy else []
    if dimension[0] == "tree":
        sizes = [
            (sum(count[v] for v in below), below) for below in tree_children(dimension, column)
        ]
        sizes = sorted(
            (abs(2 * m - n), i, below)
            for i, (m, below) in enumerate(sizes)
            if crowd <= m <= n - crowd
        )
        lefts += [below for _, _, below in sizes[:children]]
    groups = [[v] for v in values]
    if dimension[0] == "line":  # values of one cell stay together
        cells = {v: v if v is None else line_cell(dimension[1], v)[1:] for v in values}
        groups = [[v for v in values if cells[v] == cell] for cell in dict.fromkeys(cells.values())]
        if all(cell is None or cell[0] == cell[1] for cell in cells.values()):
            groups = [[v] for v in values]
    sums = [sum(count[v] for group in groups[: i + 1] for v in group) for i in range(len(groups))]
    median = next(i for i, below in enumerate(sums) if 2 * below >= n)
    return [*lefts, *({v for group in groups[:end] for v in group} for end in (median + 1, median))]


def mondrian(rows, dimensions, weights, crowd, allowed, children=1, part=None):
    """Strict multidimensional partitioning (LeFevre, DeWitt & Ramakrishnan 2006): lists of row
    numbers.
    """
    part = list(range(len(rows))) if part is None else part
    columns = [[rows[i][a] for i in part] for a in range(len(dimensions))]
    widths = [w * covering_loss(d, c) for d, c, w in zip(dimensions, columns, weights, strict=True)]
    turns = sorted(range(len(dimensions)), key=lambda a: -widths[a])
    for a, off_cell in [*((a, False) for a in turns), *((a, True) for a in turns)]:
        if len(set(columns[a])) == 1:
            continue
        for left in mondrian_cuts(dimensions[a], columns[a], crowd, children, off_cell):
            halves = [[i for i in part if (rows[i][a] in left) == side] for side in (True, False)]
            if all(len(half) >= crowd and allowed(half) for half in halves):
                return [
                    found
                    for half in halves
                    for found in mondrian(rows, dimensions, weights, crowd, allowed, children, half)
                ]
    return [part]


def k_member(points, amounts, dimensions, k, far):
    """Greedy k-member clustering (Byun, Kamra, Bertino & Li 2007) of different rows with their
    numbers of records.

    Rows with k records are clusters; a cluster starts nearest to (or farthest from) the last start.
    Of equal ones the first is taken. Returns lists of point numbers.
    """

    def loss(members):
        total = 0.0
        for a, dimension in enumerate(dimensions):
            total += covering_loss(dimension, [points[i][a] for i in members])
        return total

    def records(members):
        return sum(amounts[i] for i in members)

    clusters = [[i] for i in range(len(points)) if amounts[i] >= k]
    left = [i for i in range(len(points)) if amounts[i] < k]
    last = left[0] if left else None
    while records(left) >= k:
        seed = (max if far else min)(left, key=lambda i: loss([last, i]))
        last, grown = seed, [seed]
        left.remove(seed)
        while records(grown) < k:
            now, n = loss(grown), records(grown)
            costs = {
                i: (float(n) * (loss([*grown, i]) - now) + amounts[i] * loss([*grown, i]), i)
                for i in left
            }
            chosen = min(left, key=costs.__getitem__)
            grown.append(chosen)
            left.remove(chosen)
        clusters.append(grown)
    if not clusters:
        return [left]
    before = [list(members) for members in clusters]
    for i in left:
        costs = [
            (amounts[i] + records(m)) * loss([*m, i])
            - amounts[i] * loss([i])
            - records(m) * loss(m)
            for m in before
        ]
        clusters[costs.index(min(costs))].append(i)
    return clusters
