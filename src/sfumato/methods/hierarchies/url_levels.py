"""Web addresses: a page under its folder, its host, the domain of the host and its last label."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field

from sfumato.core.hierarchy import TOP, Hierarchy, Paths
from sfumato.core.parameters import parameters
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.hierarchies.leaf_lists import category_paths

UrlLevel = Literal["page", "folder", "host", "domain", "suffix"]
LEVELS: tuple[UrlLevel, ...] = ("page", "folder", "host", "domain", "suffix")
"""All levels, from fine to coarse."""
Row = tuple[str, ...]
# Scheme, user and port are part of the value only: no label of a level has them.
_ADDRESS = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://)?(?:[^/?#@]*@)?"
    r"([\w-]+(?:\.[\w-]+)*)\.?(?::\d{1,5})?(/[^?#]*)?(?:[?#].*)?",
    re.I | re.S,
)


@parameters
class WebAddresses(Hierarchy):
    """A web address, and above it the levels named: page, folder, host, domain, suffix; then ``*``.

    Of ``https://www.example.org/a/b?x=1#top`` the page is ``www.example.org/a/b`` (without scheme,
    user, port, question and fragment, which may name a person), the folder ``www.example.org/a``
    (the first part of the path), the host ``www.example.org``, the domain ``example.org`` (the last
    two labels of the host) and the suffix ``org``. Which suffixes are sold to anybody (``co.uk``)
    is not looked up. Hosts are written in small letters. A cell may hold a page, folder, host or
    domain already. The path of an address depends on it alone. The loss of a label is
    ``(leaves−1)/(all leaves−1)`` over the values that occur.

    Reference: RFC 3986 (parts of an address).

    >>> WebAddresses(["host", "suffix"]).paths(["https://www.example.org/a?id=7"], [1]).rows
    (('https://www.example.org/a?id=7', 'www.example.org', 'org', '*'),)
    """

    levels: Annotated[
        Sequence[UrlLevel],
        AfterValidator(tuple),
        Field(min_length=1, description="levels above the address, from fine to coarse"),
    ] = ("page", "host", "domain", "suffix")

    name: ClassVar[str] = "web_addresses"
    title: ClassVar[str] = "Web addresses"
    fixed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        order = [LEVELS.index(level) for level in self.levels]
        if order != sorted(set(order)):
            raise ParameterError(f"levels must come in the order {', '.join(LEVELS)}, each once")

    @classmethod
    def from_values(cls, counts: Mapping[str, int]) -> Self:
        """The usual levels."""
        return cls()

    def paths(self, values: Sequence[str], counts: Sequence[int]) -> Paths:
        """Paths of the distinct values; what is no web address is counted and refused."""
        nodes = [self._path(value) for value in values]
        unknown = sum(node is None for node in nodes)
        if unknown:
            raise SchemaError(
                f"web_addresses: {unknown} of {len(values)} distinct values are no web addresses; "
                "correct them, or use the hierarchy parts"
            )
        pairs = [node for node in nodes if node is not None]
        rows = [row for row, _ in pairs]
        return category_paths(rows, [own for _, own in pairs], len(self.levels) + 2)

    def level_name(self, level: int, top: int) -> str:
        """The name of the level."""
        return self.levels[level - 1]

    def _path(self, value: str) -> tuple[Row, int] | None:
        """The labels of a value and the level of the node that it is; None: it is no address."""
        top = len(self.levels) + 1
        if value == TOP:
            return (TOP,) * (top + 1), top
        labels_of = labels_at(value)
        if labels_of is None:
            return None
        labels = [labels_of[level] for level in self.levels]
        # A cell that is the label of a level is that node, and stays itself below it.
        own = 0
        for level, label in enumerate(labels, 1):
            if label == value:
                own = level
        return (value, *[value] * own, *labels[own:], TOP), own


def labels_at(value: str) -> dict[str, str] | None:
    """The label of a web address on every level; None for what is no address.

    >>> labels_at("http://u@Www.Example.org:80/a/b/?q")["page"], labels_at("a b")
    ('www.example.org/a/b', None)
    """
    match = _ADDRESS.fullmatch(value)
    if match is None:
        return None
    host = match[1].lower()
    path = (match[2] or "").rstrip("/")
    # A few letters have no small form that a host could be read back from.
    if _ADDRESS.fullmatch(host) is None:
        return None
    folder = "/".join(path.split("/")[:2]).rstrip("/")
    names = host.split(".")
    return {
        "page": host + path,
        "folder": host + folder,
        "host": host,
        "domain": ".".join(names[-2:]),
        "suffix": names[-1],
    }


def web_addresses(*levels: UrlLevel) -> WebAddresses:
    """Web addresses under their hosts: ``sf.web_addresses("host", "domain")``.
    See :class:`WebAddresses`.
    """
    return WebAddresses(levels=levels or ("page", "host", "domain", "suffix"))


def rules_of(rows: Sequence[Row]) -> list[WebAddresses]:
    """The rules that explain all labels of some examples (the top left out); none where one is no
    web address with its scheme.

    >>> [list(rule.levels) for rule in rules_of([("https://www.a.org/x", "www.a.org", "org")])]
    [['host', 'suffix']]
    """
    known = [labels_at(row[0]) if "://" in row[0] else None for row in rows]
    if any(labels is None for labels in known):
        return []
    options: list[list[UrlLevel]] = [[]]
    for position in range(1, len(rows[0])):
        longer = []
        for level in LEVELS:
            fits = all(
                labels is not None and labels[level] == row[position]
                for labels, row in zip(known, rows, strict=True)
            )
            if fits:
                longer += [[*chosen, level] for chosen in options]
        options = longer
    ordered = []
    for option in options:
        places = [LEVELS.index(level) for level in option]
        if places == sorted(set(places)):
            ordered.append(WebAddresses(levels=option))
    return ordered
