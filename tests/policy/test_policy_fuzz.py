"""Whatever a policy says: a policy, findings, or one of our errors. Nothing else."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import SfumatoError
from sfumato.policy.dialects.dialect_detection import parse_policy, write_policy
from sfumato.policy.lint import lint, lint_text
from tests.policy.dialects.test_dialect_detection import DIALECT_A, DIALECT_B
from tests.policy.dialects.test_usages import DPV, ODRL
from tests.policy.written_policies import people, study

JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
    | st.sampled_from(["QID", "k", "3", "name", "research", "P1Y", "@id", "dpv:Process"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "value", "key", "item", "@id", "x"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)
SEEDS = [
    json.loads(DIALECT_A),
    json.loads(DIALECT_B),
    json.loads(write_policy(study(), "ours")),
    DPV,
    ODRL,
]


def places(tree, path=()):
    yield path
    items = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, list)
        else ()
    )
    for key, below in items:
        yield from places(below, (*path, key))


def replaced(tree, path, junk):
    if not path:
        return junk
    made = dict(tree) if isinstance(tree, dict) else list(tree)
    made[path[0]] = replaced(tree[path[0]], path[1:], junk)
    return made


@st.composite
def broken(draw):
    tree = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 3))):
        tree = replaced(tree, draw(st.sampled_from(list(places(tree)))), draw(JUNK))
        if not isinstance(tree, dict):
            break
    return tree


def survives(text: str) -> None:
    lint_text(text, columns=["age"])
    try:
        policy, findings = parse_policy(text)
        findings.raise_errors()
        lint(policy).raise_errors()
        for dialect in ("ours", "dpv"):
            write_policy(policy, dialect)
        policy.compile(people(), purpose="research", recipient="university")
    except SfumatoError:
        pass


@given(broken())
def test_broken_json(tree):
    survives(json.dumps(tree))


@given(JUNK)
def test_any_json(tree):
    survives(json.dumps(tree))


@given(st.text(max_size=60) | st.text('{}[]":,<>/item name0', max_size=60))
def test_any_text(text):
    survives(text)


XML = write_policy(parse_policy(DIALECT_A)[0], "lpl-xml")


@given(st.integers(0, len(XML)), st.integers(0, 40), st.text('<>/&; item"', max_size=6))
def test_broken_xml(start, length, junk):
    survives(XML[:start] + junk + XML[start + length :])
