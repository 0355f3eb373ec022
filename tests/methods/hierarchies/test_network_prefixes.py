from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.hierarchy import ValueByValue
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.hierarchies import like, networks
from tests.methods.hierarchies.contract import keeps_the_contract, understands_its_own_labels

addresses = st.lists(
    st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)).map(str), min_size=1, unique=True
)


def lengths(most):
    ordered = st.lists(st.integers(1, most), min_size=2, max_size=2, unique=True)
    return ordered.map(lambda own: sorted(own, reverse=True))


@given(addresses, lengths(31), lengths(127))
def test_labels_are_the_networks_of_the_standard_library(values, prefixes, prefixes_6):
    rule = networks(*prefixes, prefixes_6=prefixes_6)
    for row in keeps_the_contract(rule, values).rows:
        address = ipaddress.ip_address(row[0])
        own = prefixes if address.version == 4 else prefixes_6
        for label, prefix in zip(row[1:], own, strict=False):
            network = ipaddress.ip_network(label)
            assert network == ipaddress.ip_network((row[0], prefix), strict=False)
            assert address in network
    understands_its_own_labels(rule, values)


def test_what_is_no_address_is_counted_and_not_shown():
    texts = ["10.0.0.1", "10.0.0.300", "10.1.0.0/8", "2001:DB8::/32"]
    with pytest.raises(SchemaError, match="3 of 4 distinct values are no IP") as caught:
        networks().paths(texts, [1] * 4)
    assert "300" not in str(caught.value)


@pytest.mark.parametrize(
    ("prefixes", "prefixes_6", "why"),
    [((8, 24), (64, 32), "must fall"), ((24, 8), (64, 48, 32), "the same number")],
)
def test_what_makes_no_sense_is_refused(prefixes, prefixes_6, why):
    with pytest.raises(ParameterError, match=why):
        networks(*prefixes, prefixes_6=prefixes_6)


def test_examples_of_networks():
    rule = like("10.1.2.3 → 10.1.2.0/24 → 10.0.0.0/8").rule.hierarchy
    assert rule == networks(24, 8, prefixes_6=(64, 48))
    both = like("10.1.2.3 → 10.1.0.0/16", "2001:db8::1 → 2001:db8::/32").rule.hierarchy
    assert both == networks(16, prefixes_6=(32,))


def test_labels_do_not_depend_on_other_values():
    alone = ValueByValue(networks())
    assert alone.top == 4
    assert alone.label("10.1.2.3", 3) == "10.0.0.0/8"
    assert alone.label("nobody", 3) is None
