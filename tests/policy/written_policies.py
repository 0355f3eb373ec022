"""Policies that several tests use."""

from __future__ import annotations

import polars as pl
from hypothesis import strategies as st

import sfumato as sf
from sfumato.policy.policy import (
    Anonymization,
    Datum,
    Entity,
    Group,
    LegalBasis,
    Policy,
    PrivacyModel,
    Pseudonymization,
    Purpose,
    Recipient,
    Retention,
)

# Gerl, lecture on privacy-preserving technologies, chapter 4.5: three people, their table.
PEOPLE = {
    "Name": ["Alice", "Bob", "Axel"],
    "Age": [25, 25, 26],
    "Zipcode": ["53711", "53712", "53711"],
    "Disease": ["Flu", "Hepatitis", "Bronchitis"],
}
AGES = {"25": ("25", "20-30", "<50"), "26": ("26", "20-30", "<50")}
ZIPS = {"53711": ("53711", "537**", "*"), "53712": ("53712", "537**", "*")}


def people() -> sf.Table:
    return sf.read(pl.DataFrame(PEOPLE))


def k_anonymity(k: int) -> PrivacyModel:
    return PrivacyModel("k-Anonymity", (), (("k", str(k)),))


USUAL = (k_anonymity(3),)


def purpose(*data: Datum, name: str = "research", models=USUAL, **fields) -> Purpose:
    return Purpose(
        name, data=data, recipients=(Recipient("university"),), models=tuple(models), **fields
    )


def datum(name: str, group: str, minimum=None, maximum=None, rows=(), **fields) -> Datum:
    method = None
    if minimum is not None or maximum is not None or rows:
        method = Anonymization(minimum=minimum, maximum=maximum, hierarchy=tuple(rows))
    return Datum(name, Group(group), categories=("some",), anonymization=method, **fields)


def personal(
    age: str, zip_code: str, *, age_level: int = 0, zip_level: int = 0, **fields
) -> Policy:
    """The policy of one of the three people: hierarchy entries of that person's own values."""
    return Policy(
        "own",
        purposes=(
            purpose(
                datum("Name", "EI"),
                datum("Age", "QID", age_level, 2, [AGES[age]]),
                datum("Zipcode", "QID", zip_level, 2, [ZIPS[zip_code]]),
                datum("Disease", "SD"),
                **fields,
            ),
        ),
    )


def three_policies(**fields) -> dict[str, Policy]:
    return {
        "Alice": personal("25", "53711", age_level=1, **fields),
        "Bob": personal("25", "53712", zip_level=1, **fields),
        "Axel": personal("26", "53711", **fields),
    }


def study(**fields) -> Policy:
    """One policy for everybody with all rows of the hierarchies."""
    data = (
        datum("Name", "EI"),
        datum("Age", "QID", 1, 2, AGES.values()),
        datum("Zipcode", "QID", 0, 2, ZIPS.values()),
        datum("Disease", "SD"),
    )
    return Policy("study", version="1.0", purposes=(purpose(*data, **fields),))


WORDS = st.text("abcdefgXYZ éß&<>'\"", min_size=1, max_size=8).map(str.strip).filter(bool)
NAMES = st.lists(WORDS, max_size=2, unique=True).map(tuple)
PAIRS = st.lists(st.tuples(WORDS, WORDS), max_size=2).map(tuple)


@st.composite
def anonymizations(draw):
    low, high = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    rows = draw(
        st.lists(WORDS, min_size=2, max_size=4).map(lambda row: (tuple(row),)) | st.just(())
    )
    other = draw(
        st.lists(st.tuples(st.sampled_from(["colour", "shape"]), WORDS), max_size=1).map(tuple)
    )
    return Anonymization(
        draw(WORDS), draw(st.none() | st.just(low)), draw(st.none() | st.just(high)), rows, other
    )


RETENTIONS = (
    st.just(Retention())
    | st.dates().map(lambda day: Retention("fixed_date", date=day))
    | st.builds(
        Retention,
        st.just("after_purpose"),
        st.none(),
        st.integers(0, 900),
        st.sampled_from(["day", "month", "year"]),
    )
)
DATA = st.builds(
    Datum,
    WORDS,
    st.sampled_from(list(Group)),
    st.sampled_from(["text", "number", "value set", "other"]),
    st.booleans(),
    NAMES,
    NAMES,
    st.none() | anonymizations(),
)
RECIPIENTS = st.builds(
    Recipient, WORDS, WORDS, st.booleans(), st.booleans(), WORDS, st.booleans(), NAMES
)
PURPOSES = st.builds(
    Purpose,
    WORDS,
    st.booleans(),
    st.booleans(),
    st.none() | st.booleans(),
    WORDS,
    st.lists(DATA, max_size=2).map(tuple),
    st.just(False),
    st.lists(RECIPIENTS, max_size=2).map(tuple),
    RETENTIONS,
    st.lists(st.builds(PrivacyModel, WORDS, NAMES, PAIRS), max_size=2).map(tuple),
    st.lists(st.builds(Pseudonymization, WORDS, NAMES, WORDS, PAIRS), max_size=1).map(tuple),
    st.lists(st.builds(LegalBasis, WORDS, WORDS), max_size=1).map(tuple),
    NAMES,
    PAIRS,
    PAIRS,
)
ENTITIES = st.builds(Entity, WORDS, WORDS, WORDS)
POLICIES = st.builds(
    Policy,
    WORDS,
    WORDS,
    WORDS,
    WORDS,
    st.lists(PURPOSES, min_size=1, max_size=2).map(tuple),
    PAIRS,
    st.lists(ENTITIES, max_size=1).map(tuple),
    st.lists(ENTITIES, max_size=1).map(tuple),
    NAMES,
    st.none() | ENTITIES,
    WORDS,
    WORDS,
    PAIRS,
    PAIRS,
)
