from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.hierarchies import like, web_addresses
from tests.methods.hierarchies.contract import keeps_the_contract, understands_its_own_labels

hosts = st.from_regex(r"[a-zA-Z0-9]{1,3}(\.[a-zA-Z]{1,3}){0,3}", fullmatch=True)
paths = st.from_regex(r"(/[a-z0-9]{0,2}){0,4}", fullmatch=True)
rests = st.sampled_from(["", "?q=1", "#top", "?a/b#c"])
urls = st.builds(
    lambda scheme, user, host, port, path, rest: f"{scheme}{user}{host}{port}{path}{rest}",
    st.sampled_from(["http://", "https://"]),
    st.sampled_from(["", "me@", "me:pw@"]),
    hosts,
    st.sampled_from(["", ":80"]),
    paths,
    rests,
)
every_level = web_addresses("page", "folder", "host", "domain", "suffix")


@given(st.lists(urls, min_size=1, max_size=8, unique=True))
def test_labels_are_those_of_the_standard_library(values):
    for row in keeps_the_contract(every_level, values).rows:
        known = urlsplit(row[0])
        host = known.hostname
        assert row[1] == host + known.path.rstrip("/")
        assert row[3:] == (host, ".".join(host.split(".")[-2:]), host.split(".")[-1], "*")
    understands_its_own_labels(every_level, values)


def test_worked_address():
    value = "https://ann@www.Example.org:8080/people/ann?id=7#top"
    assert every_level.paths([value], [1]).rows[0][1:] == (
        "www.example.org/people/ann",
        "www.example.org/people",
        "www.example.org",
        "example.org",
        "org",
        "*",
    )


def test_what_is_no_address_is_counted_and_not_shown():
    with pytest.raises(SchemaError, match="1 of 2 distinct values are no web") as caught:
        web_addresses().paths(["a.org", "my secret"], [1, 1])
    assert "secret" not in str(caught.value)


def test_levels_come_in_their_order():
    with pytest.raises(ParameterError, match="in the order"):
        web_addresses("domain", "host")


def test_examples_of_addresses():
    rule = like("https://www.a.org/x?y → www.a.org → a.org → org").rule.hierarchy
    assert rule == web_addresses("host", "domain", "suffix")
    with pytest.raises(ParameterError, match="give an example in which they differ"):
        like("https://a.org/x → a.org")
