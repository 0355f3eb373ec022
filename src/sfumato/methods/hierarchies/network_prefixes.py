"""Networks: IP addresses under the networks that they belong to."""

from __future__ import annotations

import ipaddress
import itertools
from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from sfumato.core.hierarchy import TOP, Hierarchy, Paths
from sfumato.core.parameters import parameters
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.hierarchies.leaf_lists import category_paths

Row = tuple[str, ...]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
USUAL = {4: [24, 16, 8], 6: [64, 48, 32]}
"""The lengths of prefixes that networks of IPv4 and IPv6 often have."""
Length4 = Annotated[int, Field(ge=1, le=31)]
Length6 = Annotated[int, Field(ge=1, le=127)]


@parameters
class Networks(Hierarchy):
    """Level *j* is the network of prefix length ``prefixes[j−1]`` an address belongs to; above is
    ``*``.

    Addresses of IPv4 and IPv6 may stand in one column; those of IPv6 have the lengths
    ``prefixes_6``. A network is written as ``192.168.1.0/24``, in its shortest form, and a cell may
    hold one already. The path of an address depends on it alone. The loss of a label is
    ``(leaves−1)/(all leaves−1)`` over the addresses that occur.

    Reference: RFC 4632 (CIDR), RFC 5952 (how addresses of IPv6 are written).

    >>> Networks([24, 8], [64, 32]).paths(["192.168.1.127", "2001:db8::1"], [1, 1]).rows[0]
    ('192.168.1.127', '192.168.1.0/24', '192.0.0.0/8', '*')
    """

    prefixes: Annotated[
        Sequence[Length4],
        AfterValidator(tuple),
        Field(min_length=1, description="prefix lengths of IPv4, from long to short"),
    ] = (24, 16, 8)
    prefixes_6: Annotated[
        Sequence[Length6],
        AfterValidator(tuple),
        Field(min_length=1, description="prefix lengths of IPv6, as many as those of IPv4"),
    ] = (64, 48, 32)

    name: ClassVar[str] = "networks"
    title: ClassVar[str] = "Networks of IP addresses"
    fixed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for lengths in (self.prefixes, self.prefixes_6):
            for longer, shorter in itertools.pairwise(lengths):
                if shorter >= longer:
                    raise ParameterError(
                        f"prefix lengths must fall from level to level; {shorter} after {longer} "
                        "does not"
                    )
        if len(self.prefixes) != len(self.prefixes_6):
            raise ParameterError(
                f"prefixes has {len(self.prefixes)} levels and prefixes_6 has "
                f"{len(self.prefixes_6)}; give both the same number"
            )

    def paths(self, values: Sequence[str], counts: Sequence[int]) -> Paths:
        """Paths of the distinct values; what is no address is counted and refused."""
        nodes = [self._path(value) for value in values]
        unknown = sum(node is None for node in nodes)
        if unknown:
            raise SchemaError(
                f"networks: {unknown} of {len(values)} distinct values are no IP addresses (or "
                "networks in their shortest form); correct them, or use the hierarchy parts"
            )
        pairs = [node for node in nodes if node is not None]
        rows = [row for row, _ in pairs]
        return category_paths(rows, [own for _, own in pairs], len(self.prefixes) + 2)

    def level_name(self, level: int, top: int) -> str:
        """The prefix length of the level."""
        return f"/{self.prefixes[level - 1]} or /{self.prefixes_6[level - 1]}"

    def _path(self, value: str) -> tuple[Row, int] | None:
        """The labels of a value and the level of the node that it is; None: it is no address."""
        top = len(self.prefixes) + 1
        if value == TOP:
            return (TOP,) * (top + 1), top
        known = read_address(value)
        if known is None:
            return None
        address, length = known
        lengths = self.prefixes if address.version == 4 else self.prefixes_6
        labels = [value]
        own = 0
        for level, prefix in enumerate(lengths, 1):
            if prefix >= length:
                labels.append(value)
                own = level
            else:
                labels.append(network_of(address, prefix))
        return (*labels, TOP), own


def read_address(text: str) -> tuple[Address, int] | None:
    """An address, or a network in its shortest form, with the length of its prefix; None for
    anything else.

    >>> read_address("10.1.2.3")[1], read_address("10.0.0.0/8")[1], read_address("10.1.0.0/8")
    (32, 8, None)
    """
    host, slash, suffix = text.partition("/")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    if not slash:
        return address, address.max_prefixlen
    if not (suffix.isascii() and suffix.isdigit()):
        return None
    length = int(suffix)
    if not 0 < length <= address.max_prefixlen or network_of(address, length) != text:
        return None
    return address, length


def network_of(address: Address, prefix: int) -> str:
    """The network of a prefix length that an address belongs to, as it is written.

    >>> network_of(ipaddress.ip_address("2001:db8:1:2::3"), 48)
    '2001:db8:1::/48'
    """
    hidden = address.max_prefixlen - prefix
    first = int(address) >> hidden << hidden
    return f"{type(address)(first)}/{prefix}"


def networks(*prefixes: int, prefixes_6: Sequence[int] = (64, 48, 32)) -> Networks:
    """IP addresses under their networks: ``sf.networks(24, 16, 8)``. See :class:`Networks`."""
    return Networks(prefixes=prefixes or (24, 16, 8), prefixes_6=prefixes_6)


def rule_of(rows: Sequence[Row]) -> Networks | None:
    """The networks that all labels of some examples are; None where they are none.

    Lengths of the kind of address that no example has are the usual ones, or spread evenly.

    >>> rule_of([("192.168.1.127", "192.168.1.0/24", "192.0.0.0/8")]).prefixes
    (24, 8)
    """
    lengths: dict[int, Sequence[str]] = {}
    for row in rows:
        known = [read_address(label) for label in row]
        if any(node is None for node in known) or known[0] is None:
            return None
        suffixes = tuple(label.partition("/")[2] for label in row[1:])
        if not all(suffixes):
            return None
        if lengths.setdefault(known[0][0].version, suffixes) != suffixes:
            return None
    depth = len(rows[0]) - 1
    chosen = {}
    for version, bits in ((4, 32), (6, 128)):
        # A kind without an example: the usual lengths, and of more levels equal distances.
        usual = USUAL[version][:depth]
        if depth > len(usual):
            usual = [bits - bits * level // (depth + 1) for level in range(1, depth + 1)]
        chosen[version] = [int(length) for length in lengths.get(version, usual)]
    try:
        rule = Networks(prefixes=chosen[4], prefixes_6=chosen[6])
    except ParameterError:
        return None
    paths = rule.paths([row[0] for row in rows], [1] * len(rows)).rows
    return rule if [path[:-1] for path in paths] == list(rows) else None
