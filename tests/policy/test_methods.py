"""Every method, attribute and operator of every language: compiled, refused by name, or without
effect on data.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import datetime
import json
import random
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.core import registry
from sfumato.core.data_files import read_data_file
from sfumato.errors import SfumatoError
from sfumato.policy.compile import Use
from sfumato.policy.comply import hold_against
from sfumato.policy.dialects import special, usages
from sfumato.policy.dialects.dialect_detection import parse_policy, read_concept_text, write_policy
from sfumato.policy.documents import PolicyError
from sfumato.policy.lint import lint, lint_text
from sfumato.policy.policy import (
    DELETION,
    GENERALIZATION,
    SUPPRESSION,
    WORDS,
    Anonymization,
    Datum,
    Group,
    LegalBasis,
    Policy,
    PrivacyModel,
    Pseudonymization,
    Purpose,
    Recipient,
    Retention,
    models_of,
    names_pseudonyms,
)
from tests.policy import written_policies
from tests.policy.written_policies import datum, k_anonymity, people, purpose, study

USE = {"purpose": "research", "recipient": "university"}
WRITTEN = ("ours", "lpl-a", "lpl-b", "lpl-xml")
PLAIN = Policy(
    "keep",
    purposes=(purpose(*(datum(c, "NSD") for c in ("Age", "Zipcode", "Disease")), models=()),),
)


def with_method(column: str, method: Anonymization, group: str | None = None) -> Policy:
    """The study's policy without entries, with another method for one column."""
    data = []
    for each in study().purposes[0].data:
        new = dataclasses.replace(each, anonymization=None)
        if each.name == column:
            new = dataclasses.replace(
                new, anonymization=method, group=Group(group) if group else each.group
            )
        data.append(new)
    return Policy("p", purposes=(purpose(*data, models=(k_anonymity(1),)),))


def errors(policy: Policy) -> list[str]:
    return [finding.rule for finding in lint(policy) if finding.severity == "error"]


def cells(folder: Path) -> dict[str, list[str]]:
    """The released file as text, by column."""
    (file,) = (folder / "share").glob("*.csv")
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}


# --- Suppression and Deletion, which were ignored


@pytest.mark.parametrize("language", WRITTEN)
@pytest.mark.parametrize("method", [SUPPRESSION, DELETION])
@pytest.mark.parametrize(
    ("column", "group"), [("Zipcode", "QID"), ("Age", "QID"), ("Disease", "SD"), ("Age", "NSD")]
)
def test_what_must_go_is_not_released(tmp_path, language, method, column, group):
    written = write_policy(with_method(column, Anonymization(method), group), language)
    policy, _ = parse_policy(written, name="p")
    assert not errors(policy)
    policy.enforce(people(), **USE).write(tmp_path / "out")
    assert column not in cells(tmp_path / "out")
    assert policy.comply(tmp_path / "out" / "share", **USE).holds


@pytest.mark.parametrize("method", [SUPPRESSION, DELETION])
def test_comply_looks_at_the_released_column(tmp_path, method):
    loose = with_method("Disease", Anonymization(minimum=0, maximum=1))
    loose.enforce(people(), **USE).write(tmp_path / "out")
    strict = with_method("Disease", Anonymization(method))
    compliance = strict.comply(tmp_path / "out" / "share", **USE)
    assert not compliance.holds and "'Disease' shows values" in compliance.reasons[0]


def test_one_person_who_asks_for_deletion_gets_it(tmp_path):
    own = {
        name: with_method("Zipcode", Anonymization(minimum=0, maximum=1))
        for name in ("Alice", "Bob")
    }
    own["Axel"] = with_method("Zipcode", Anonymization(DELETION))
    sf.Policies.of(own).enforce(people(), by="Name", **USE).write(tmp_path / "out")
    assert set(cells(tmp_path / "out")) == {"Age", "Disease"}


def test_suppression_to_a_level_is_that_level(tmp_path):
    rows = (("53711", "537**", "*"), ("53712", "537**", "*"))
    policy = with_method("Zipcode", Anonymization(SUPPRESSION, 1, 2, rows))
    policy.enforce(people(), **USE).write(tmp_path / "out")
    assert set(cells(tmp_path / "out")["Zipcode"]) <= {"537**", "*"}


@pytest.mark.parametrize(
    "method",
    [
        Anonymization("Noise"),
        Anonymization(""),
        Anonymization("Microaggregation", 1, 1),
        Anonymization(SUPPRESSION, 0, 2),
        Anonymization(SUPPRESSION, None, 2),
        Anonymization(GENERALIZATION, 1, 2, parameters=(("Minimum Levle", "2"),)),
        Anonymization(DELETION, parameters=(("replacement", "x"),)),
    ],
)
def test_what_cannot_be_carried_out_is_refused_by_name(tmp_path, method):
    policy = with_method("Zipcode", method)
    assert errors(policy) == ["unknown_method"]
    with pytest.raises(PolicyError, match="unknown_method"):
        policy.enforce(people(), **USE)
    study().enforce(people(), **USE).write(tmp_path / "out")
    assert not policy.comply(tmp_path / "out" / "share", **USE).holds


def test_pseudonyms_weaker_than_asked_for_do_not_comply(tmp_path):
    def with_pseudonyms(name: str) -> Policy:
        return study(pseudonymizations=(Pseudonymization(name, ("Name",)),))

    with_pseudonyms("Counter").enforce(people(), **USE).write(tmp_path / "out")
    assert with_pseudonyms("Counter").comply(tmp_path / "out" / "share", **USE).holds
    reasons = with_pseudonyms("Random table").comply(tmp_path / "out" / "share", **USE).reasons
    assert any("weaker than the required random table" in reason for reason in reasons)
    assert errors(with_pseudonyms("Deletion")) == ["unknown_method"]
    attributes = study(
        pseudonymizations=(Pseudonymization("HMAC", ("Name",), "", (("rounds", "9"),)),)
    )
    assert errors(attributes) == ["unknown_attribute"]


# --- our own form and LPL: every field of every noun

LATER = Retention("fixed_date", date=datetime.date(2090, 1, 1))
NO_EFFECT = "no effect"
# (noun, field) → a changed value, and what comes of it: another recipe, a refusal, or no effect on
# data
FIELDS = {
    (Anonymization, "method"): (DELETION, "compiled"),
    (Anonymization, "minimum"): (2, "compiled"),
    (Anonymization, "maximum"): (1, "compiled"),
    (Anonymization, "hierarchy"): (
        (("25", "young", "*"),),
        "refused",
    ),  # others have no entry, or the table says otherwise
    (Anonymization, "parameters"): ((("colour", "red"),), "refused"),
    (Datum, "name"): ("Agee", "refused"),
    (Datum, "group"): (Group.EI, "compiled"),
    (Datum, "type"): ("number", NO_EFFECT),
    (Datum, "required"): (True, NO_EFFECT),
    (Datum, "categories"): (("another",), NO_EFFECT),
    (Datum, "groups"): (("body",), NO_EFFECT),
    (Datum, "anonymization"): (None, "compiled"),
    (PrivacyModel, "name"): ("mystery", "refused"),
    (PrivacyModel, "data"): (("Agee",), "refused"),
    (PrivacyModel, "parameters"): ((("k", "2"),), "compiled"),
    (Pseudonymization, "name"): ("Counter", "compiled"),
    (Pseudonymization, "data"): ((), "compiled"),
    (Pseudonymization, "target"): ("PID", NO_EFFECT),
    (Pseudonymization, "parameters"): ((("rounds", "9"),), "refused"),
    (Recipient, "name"): ("press", "refused"),
    (Recipient, "classification"): ("Person", NO_EFFECT),
    (Recipient, "required"): (True, NO_EFFECT),
    (Recipient, "third_country"): (True, "refused"),
    (Recipient, "country"): ("Norway", NO_EFFECT),
    (Recipient, "adequacy_decision"): (True, NO_EFFECT),
    (Recipient, "safeguards"): (("contract",), NO_EFFECT),
    (Retention, "kind"): ("indefinite", "compiled"),
    (Retention, "date"): (datetime.date(2020, 1, 1), "refused"),
    (Retention, "amount"): (3, NO_EFFECT),
    (Retention, "unit"): ("year", NO_EFFECT),
    (Purpose, "name"): ("marketing", "refused"),
    (Purpose, "required"): (True, NO_EFFECT),
    (Purpose, "opt_out"): (True, NO_EFFECT),
    (Purpose, "accepted"): (False, "refused"),
    (Purpose, "point_of_acceptance"): ("here", NO_EFFECT),
    (Purpose, "data"): ((datum("Age", "QID"),), "refused"),
    (Purpose, "any_data"): (True, "refused"),
    (Purpose, "recipients"): ((), "refused"),
    (Purpose, "retention"): (Retention(), "compiled"),
    (Purpose, "models"): ((), "refused"),
    (Purpose, "pseudonymizations"): ((), "compiled"),
    (Purpose, "legal_bases"): ((LegalBasis("consent"),), NO_EFFECT),
    (Purpose, "automated_decisions"): (("scoring",), NO_EFFECT),
    (Purpose, "title"): ((("en", "Research"),), NO_EFFECT),
    (Purpose, "description"): ((("en", "Research"),), NO_EFFECT),
}


def base(language: str = "ours") -> Policy:
    """The study's policy; LPL has entries of one value only, so there the table has the
    hierarchies.
    """
    pseudonyms = (Pseudonymization("Random table", ("Name",)),)
    models = (PrivacyModel("k-Anonymity", ("Age", "Zipcode"), (("k", "3"),)),)
    policy = study(pseudonymizations=pseudonyms, retention=LATER, models=models)
    if language == "ours":
        return policy
    (first,) = policy.purposes
    data = []
    for each in first.data:
        method = each.anonymization and dataclasses.replace(each.anonymization, hierarchy=())
        data.append(dataclasses.replace(each, anonymization=method))
    return dataclasses.replace(policy, purposes=(dataclasses.replace(first, data=tuple(data)),))


def table(language: str) -> sf.Table:
    if language == "ours":
        return people()
    rows = {
        "Age": list(written_policies.AGES.values()),
        "Zipcode": list(written_policies.ZIPS.values()),
    }
    listed = {
        name: registry.build("hierarchies", {"table": {"rows": [list(r) for r in each]}})
        for name, each in rows.items()
    }
    return people().with_roles(quasi=["Age", "Zipcode"]).with_hierarchies(**listed)


def outcome(policy: Policy, language: str):
    compiled = policy.enforce(table(language), seed=1, **USE).compiled
    decisions = [d for d in compiled.decisions if d.rule != "datum_not_in_table"]
    return (
        compiled.recipe.schema,
        compiled.recipe.meet,
        compiled.recipe.steps,
        decisions,
        compiled.delete_by,
    )


def changed(policy: Policy, noun: type, field: str, value) -> Policy:
    """The policy with one field of its first purpose, or of a noun in there, replaced."""
    (first,) = policy.purposes
    if noun is Purpose:
        first = dataclasses.replace(first, **{field: value})
    elif noun is Retention:
        first = dataclasses.replace(
            first, retention=dataclasses.replace(first.retention, **{field: value})
        )
    elif noun in (Datum, Anonymization):
        age = first.datum("Age")
        if noun is Anonymization:
            age = dataclasses.replace(
                age, anonymization=dataclasses.replace(age.anonymization, **{field: value})
            )
        else:
            age = dataclasses.replace(age, **{field: value})
        first = dataclasses.replace(
            first, data=tuple(age if d.name == "Age" else d for d in first.data)
        )
    else:
        lists = {
            PrivacyModel: "models",
            Pseudonymization: "pseudonymizations",
            Recipient: "recipients",
        }
        (only,) = getattr(first, lists[noun])
        first = dataclasses.replace(
            first, **{lists[noun]: (dataclasses.replace(only, **{field: value}),)}
        )
    return dataclasses.replace(policy, purposes=(first,))


def test_every_field_of_the_nouns_is_judged():
    for noun in (
        Anonymization,
        Datum,
        PrivacyModel,
        Pseudonymization,
        Recipient,
        Retention,
        Purpose,
    ):
        names = {field.name for field in dataclasses.fields(noun)}
        assert names == {field for kind, field in FIELDS if kind is noun}, noun


@pytest.mark.parametrize("language", WRITTEN)
@pytest.mark.parametrize("case", FIELDS, ids=lambda case: f"{case[0].__name__}.{case[1]}")
def test_every_field_is_compiled_refused_or_without_effect(case, language):
    value, expected = FIELDS[case]
    try:
        policy = changed(base(language), *case, value)
        policy = parse_policy(write_policy(policy, language), name="p")[0]
        result = outcome(policy, language)
    except SfumatoError:
        assert expected == "refused"
        return
    assert expected == ("compiled" if result != outcome(base(language), language) else NO_EFFECT)


def test_what_has_no_effect_is_documented():
    page = (Path(__file__).parents[2] / "docs" / "how_to" / "policies.md").read_text()
    words = page.partition("## What has no effect on data")[2].partition("\n## ")[0]
    for (noun, field), (_, expected) in FIELDS.items():
        if expected == NO_EFFECT:
            assert f"`{field}`" in words, (noun.__name__, field)


NAMES = read_data_file("sfumato.policy", "model_names")


@pytest.mark.parametrize("name", NAMES)
def test_every_model_name_is_built(name):
    parameters = {
        "k_anonymity": {"k": 2},
        "l_diversity": {"l": 2},
        "t_closeness": {"t": 0.5},
        "beta_likeness": {"beta": 1},
    }
    parameters |= {
        "delta_disclosure": {"delta": 1},
        "p_sensitive": {"p": 2, "k": 2},
        "alpha_k_anonymity": {"alpha": 0.5, "k": 2},
    }
    pairs = {key: str(value) for key, value in parameters[NAMES[name][0]].items()}
    if NAMES[name][1].get("kind") == "recursive":
        pairs["c"] = "2"
    (model,) = models_of(PrivacyModel(name, (), tuple(pairs.items())), ["Disease"])
    assert model.name == NAMES[name][0]


def test_every_word_for_pseudonyms_is_known():
    for _, words in WORDS:
        assert all(names_pseudonyms(word) for word in words)


# --- DPV


def dpv(**changes) -> dict:
    node = {
        "@type": "dpv:Process",
        "dpv:hasPurpose": {"@id": "dpv:AcademicResearch"},
        "dpv:hasPersonalData": [
            {
                "@type": "pd:Age",
                "sf:column": {"@value": "Age"},
                "sf:group": "QID",
                "sf:minimumLevel": 1,
            }
        ],
        "dpv:hasRecipient": {"@id": "sf:university"},
        "dpv:hasTechnicalOrganisationalMeasure": [{"@type": "sf:KAnonymity", "sf:has_k": 2}],
        **changes,
    }
    context = {
        "dpv": "https://w3id.org/dpv#",
        "pd": "https://w3id.org/dpv/pd#",
        "sf": "urn:sfumato:vocabulary#",
    }
    return {"@context": context, "@graph": [node]}


def column(**fields) -> list:
    return [{"@type": "pd:Age", "sf:column": {"@value": "Age"}, **fields}]


def test_dpv_takes_numbers_with_types():
    tree = dpv(
        **{
            "dpv:hasPersonalData": column(
                **{"sf:group": "QID", "sf:minimumLevel": {"@value": "2", "@type": "xsd:integer"}}
            ),
            "dpv:hasTechnicalOrganisationalMeasure": {
                "@type": "sf:KAnonymity",
                "sf:has_k": {"@value": "7", "@type": "xsd:integer"},
            },
        }
    )
    (research,) = parse_policy(json.dumps(tree), name="p.jsonld")[0].purposes
    assert research.data[0].anonymization.minimum == 2
    assert research.models == (PrivacyModel("k_anonymity", (), (("k", "7"),)),)
    (use,) = read_concept_text(json.dumps(tree), "p.jsonld")[0]
    assert use.measures[0].parameters == (("has_k", 7.0),)


def test_other_properties_of_a_process_are_named():
    remarks = lint_text(json.dumps(dpv(**{"dpv:hasRisk": {"@id": "sf:x"}})), name="p.jsonld")
    assert any(f.rule == "not_read" and "dpv:hasRisk" in f.message for f in remarks)


def test_dpv_cannot_say_deletion_and_pseudonyms_of_columns():
    with pytest.raises(PolicyError, match="not_sayable"):
        write_policy(with_method("Disease", Anonymization(DELETION)), "dpv")
    quasi = study(pseudonymizations=(Pseudonymization("HMAC", ("Age",)),))
    with pytest.raises(PolicyError, match="not_sayable"):
        write_policy(quasi, "dpv")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"sf:minimumLevel": 2}, "below the minimum of 2"),
        ({"sf:group": "EI"}, "explicit identifier"),
    ],
)
def test_comply_holds_released_columns_against_dpv(tmp_path, changes, reason):
    study().enforce(people(), **USE).write(tmp_path / "out")
    kinds = [
        {
            "@type": "pd:Age",
            "sf:column": {"@value": "Age"},
            "sf:group": "QID",
            "sf:minimumLevel": 1,
            **changes,
        },
        {"@type": "pd:Location", "sf:column": {"@value": "Zipcode"}, "sf:group": "QID"},
        {"@type": "pd:Health", "sf:column": {"@value": "Disease"}, "sf:group": "SD"},
    ]
    (tmp_path / "p.jsonld").write_text(json.dumps(dpv(**{"dpv:hasPersonalData": kinds})))
    named = {"categories": ["pd:Age", "pd:Location", "pd:Health"]}
    use = Use("dpv:AcademicResearch", "university")
    held = hold_against(tmp_path / "out" / "share", [str(tmp_path / "p.jsonld")], use, **named)
    assert held.holds is (not reason) and any(reason in r for r in held.reasons or [""])


# --- ODRL

OPERATORS = [
    "eq",
    "gt",
    "gteq",
    "lt",
    "lteq",
    "neq",
    "isA",
    "hasPart",
    "isPartOf",
    "isAllOf",
    "isAnyOf",
    "isNoneOf",
    "and",
    "or",
    "xone",
    "andSequence",
]
OPERANDS = [
    "absolutePosition",
    "absoluteSize",
    "absoluteSpatialPosition",
    "absoluteTemporalPosition",
    "count",
    "dateTime",
    "delayPeriod",
    "deliveryChannel",
    "elapsedTime",
    "event",
    "fileFormat",
    "industry",
    "language",
    "media",
    "meteredTime",
    "payAmount",
    "percentage",
    "product",
    "purpose",
    "recipient",
    "relativePosition",
    "relativeSize",
    "resolution",
    "spatial",
    "spatialCoordinates",
    "systemDevice",
    "timeInterval",
    "unitOfCount",
    "version",
    "virtualLocation",
]
VALUES = {"elapsedTime": {"@value": "P30D"}, "dateTime": {"@value": "2090-01-01"}}


def odrl(rule: dict, kind: str = "permission", **more) -> tuple[usages.Usage, ...]:
    tree = {
        "@context": "http://www.w3.org/ns/odrl.jsonld",
        "@type": "Set",
        "uid": "urn:x",
        kind: [{"action": "use", **rule}],
    }
    try:
        return read_concept_text(json.dumps({**tree, **more}), "p")[0]
    except PolicyError:  # no use is left
        return ()


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("operand", OPERANDS)
def test_every_constraint_of_odrl_is_read_or_binds(operand, operator):
    """A permission whose constraint is not read permits nothing; a prohibition then holds without
    it.
    """
    constraint = {
        "leftOperand": operand,
        "operator": operator,
        "rightOperand": VALUES.get(operand, {"@id": "sf:x"}),
    }
    permitted = odrl({"constraint": [constraint]})
    names = operand in ("purpose", "recipient", "spatial") and f"odrl:{operator}" in usages.EQUAL
    times = operand in ("elapsedTime", "dateTime") and f"odrl:{operator}" in usages.AT_MOST
    if names or times:
        (use,) = permitted
        bare = usages.Usage(processing=use.processing)
        assert use != bare
    else:
        assert permitted == ()
    (forbidden,) = odrl({"constraint": [constraint]}, "prohibition")
    assert not forbidden.permitted


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("operand", ["sf:has_k", "sf:has_l", "sf:has_t", "sf:has_c", "count"])
def test_every_constraint_of_the_duty_to_anonymize(operand, operator):
    constraint = {"leftOperand": operand, "operator": operator, "rightOperand": {"@value": "3"}}
    permitted = odrl({"duty": [{"action": "anonymize", "constraint": [constraint]}]})
    known = usages.TERMS_OF_DUTIES.get(operand)
    if known and f"odrl:{operator}" in known[1]:
        assert permitted[0].measures == (
            usages.TechnicalMeasure(known[0], ((operand.removeprefix("sf:"), 3.0),)),
        )
    else:
        assert permitted == ()


@pytest.mark.parametrize("part", ["action", "target", "assignee"])
def test_refinements_bind_permissions_and_not_prohibitions(part):
    refinement = [{"leftOperand": "count", "operator": "lt", "rightOperand": 3}]
    refined = {
        "rdf:value": {"@id": "odrl:use"},
        "source": {"@id": "sf:x"},
        "refinement": refinement,
    }
    assert odrl({part: refined}) == ()
    (forbidden,) = odrl({part: refined}, "prohibition")
    wanted = usages.Usage(
        purposes=("sf:any",),
        processing=("dpv:MakeAvailable",),
        recipients=("sf:x",),
        data=(usages.Category("sf:x"),),
    )
    everything = usages.Usage()
    assert not usages.allows(wanted, (everything, forbidden)).allowed


def satisfied(constraint: dict, request: dict) -> bool:
    """Whether a request keeps a constraint, by the words of ODRL alone; what a request does not say
    keeps nothing.
    """
    operand, operator = constraint["leftOperand"], constraint["operator"]
    right = constraint["rightOperand"]
    value = right.get("@id", right.get("@value"))
    if operand not in request:
        return False
    mine = request[operand]
    if operand in ("purpose", "recipient"):
        same = mine == value
        return {
            "eq": same,
            "isA": same,
            "isAnyOf": same,
            "isPartOf": same,
            "neq": not same,
            "isNoneOf": not same,
        }.get(operator, False)
    number = int(value.strip("PD")) if operand == "elapsedTime" else value
    return {
        "lt": mine < number,
        "lteq": mine <= number,
        "eq": mine == number,
        "gt": mine > number,
        "gteq": mine >= number,
    }.get(operator, False)


@pytest.mark.parametrize("seed", range(60))
def test_no_random_permission_allows_what_its_constraints_forbid(seed):
    draw = random.Random(seed)
    values = {
        "purpose": lambda: {"@id": draw.choice(["sf:a", "sf:b"])},
        "recipient": lambda: {"@id": draw.choice(["sf:u", "sf:v"])},
        "elapsedTime": lambda: {"@value": f"P{draw.choice([10, 30, 60])}D"},
        "count": lambda: {"@value": 3},
        "language": lambda: {"@value": "en"},
    }
    constraints = []
    for _ in range(draw.randint(0, 3)):
        operand = draw.choice([*values, "purpose", "recipient", "elapsedTime"])
        operator = draw.choice(
            OPERATORS[:12] if draw.random() < 0.3 else ["eq", "isA", "lteq", "lt"]
        )
        constraints.append(
            {"leftOperand": operand, "operator": operator, "rightOperand": values[operand]()}
        )
    request = {
        "purpose": draw.choice(["sf:a", "sf:b"]),
        "recipient": draw.choice(["sf:u", "sf:v"]),
        "elapsedTime": draw.choice([5, 30, 45]),
    }
    wanted = usages.Usage(
        purposes=(request["purpose"],),
        recipients=(request["recipient"],),
        processing=("dpv:MakeAvailable",),
        days=request["elapsedTime"],
    )
    permitted = odrl({"constraint": constraints})
    if usages.allows(wanted, permitted).allowed:
        broken = [c for c in constraints if not satisfied(c, request)]
        # a stay of at most 30 days is asked for by all of "lteq", "lt" and "eq": what is shorter
        # keeps it
        assert [
            c for c in broken if (c["leftOperand"], c["operator"]) != ("elapsedTime", "eq")
        ] == []


# --- SPECIAL

OWL = [
    "ObjectIntersectionOf",
    "ObjectUnionOf",
    "ObjectComplementOf",
    "ObjectOneOf",
    "ObjectSomeValuesFrom",
    "ObjectAllValuesFrom",
    "ObjectHasValue",
    "ObjectHasSelf",
    "ObjectMinCardinality",
    "ObjectMaxCardinality",
    "ObjectExactCardinality",
    "DataSomeValuesFrom",
    "DataAllValuesFrom",
    "DataHasValue",
    "DataMinCardinality",
    "DataMaxCardinality",
    "DataExactCardinality",
]
READ = {
    "ObjectIntersectionOf": "(A B)",
    "ObjectUnionOf": "(A B)",
    "ObjectSomeValuesFrom": "(hasPurpose B)",
    "DataSomeValuesFrom": (
        '(has_k DatatypeRestriction(xsd:integer xsd:minInclusive "3"^^xsd:integer))'
    ),
    "DataHasValue": '(has_k "3"^^xsd:integer)',
}


@pytest.mark.parametrize("word", OWL)
def test_every_construct_of_owl_is_read_or_refused(word):
    text = word + READ.get(word, "(hasPurpose B)")
    if word in READ:
        assert special.parse_functional(text).policy is not None
        return
    with pytest.raises(PolicyError, match="is not part of the policy language"):
        special.parse_functional(text)


@pytest.mark.parametrize(
    "facet",
    [
        "minInclusive",
        "maxInclusive",
        "minExclusive",
        "maxExclusive",
        "length",
        "pattern",
        "totalDigits",
    ],
)
def test_every_facet_is_read_or_refused(facet):
    text = (
        f'DataSomeValuesFrom(has_k DatatypeRestriction(xsd:integer xsd:{facet} "3"^^xsd:integer))'
    )
    if f"xsd:{facet}" in (*special.LOW, *special.HIGH):
        found = special.parse_functional(text).policy
        ends = {"minInclusive": 3, "minExclusive": 4, "maxInclusive": 3, "maxExclusive": 2}
        assert ends[facet] in (found.low, found.high)
    else:
        with pytest.raises(PolicyError, match="a range must"):
            special.parse_functional(text)


@pytest.mark.parametrize(
    "property_name", [*special.AT_LEAST, *special.AT_MOST, *special.CORE, "has_m"]
)
def test_a_release_without_a_property_is_not_permitted_what_asks_for_it(property_name):
    """Nothing that a policy asks for is passed over: a release that says nothing of it is
    refused.
    """
    asked = special.Between(property_name, 3, 3, exact=True)
    described = usages.Usage(purposes=("sf:x",)).concept()
    assert not usages.decide(described, special.as_policy(asked), usages.built_in()).allowed


# --- the same claim again: random policies, and a naive look at the released file

AGES = {str(age): (str(age), f"{age // 10}0s", "any") for age in range(20, 60)}
ZIPS = {f"5{i}{j}1": (f"5{i}{j}1", f"5{i}", "*") for i in range(3) for j in range(3)}
ILLS = {ill: (ill, "ill", "*") for ill in ("flu", "cold", "gout")}
ENTRIES = {"Age": AGES, "Zip": ZIPS, "Ill": ILLS}


def random_table(rng: random.Random) -> dict[str, list]:
    count = rng.randint(4, 14)
    return {
        "Name": [f"n{i}" for i in range(count)],
        "Age": [rng.choice(list(AGES)) for _ in range(count)],
        "Zip": [rng.choice(list(ZIPS)) for _ in range(count)],
        "Ill": [rng.choice(list(ILLS)) for _ in range(count)],
    }


def random_method(rng: random.Random, rows) -> Anonymization | None:
    if rng.random() < 0.2:
        return None
    name = rng.choice(
        ["Generalization", "Generalisation", "Suppression", "suppression", "Deletion", "DELETION"]
    )
    if rng.random() < 0.04:
        name = "Masking"
    low, high = rng.choice([(None, None), (None, None), (1, 2), (2, 2), (1, None), (0, 2)])
    if low == 0 and name.lower() == "suppression" and rng.random() < 0.8:
        low = 1
    more = (("Replacement", "x"),) if rng.random() < 0.04 else ()
    return Anonymization(name, low, high, rows if low is None or rng.random() < 0.9 else (), more)


def random_policy(rng: random.Random) -> Policy:
    data = [Datum("Name", Group.EI, categories=("c",))]
    for name, rows in ENTRIES.items():
        if rng.random() < 0.9:
            group = rng.choice([Group.QID, Group.SD, Group.NSD, Group.EI])
            data.append(
                Datum(
                    name,
                    group,
                    categories=("c",),
                    anonymization=random_method(rng, tuple(rows.values())),
                )
            )
    models = (k_anonymity(rng.choice([1, 2, 3])),)
    return Policy(
        "p",
        purposes=(
            Purpose(
                "research", data=tuple(data), recipients=(Recipient("university"),), models=models
            ),
        ),
    )


def demand_by_hand(method: Anonymization | None) -> tuple[str, int]:
    """What a method asks for, from the page on policies alone: refuse, gone, or a level."""
    if method is None:
        return "level", 0
    name = method.method.lower()
    if (
        name not in ("generalization", "generalisation", "suppression", "deletion")
        or method.parameters
    ):
        return "refuse", 0
    if name == "deletion":
        return "gone", 0
    if name == "suppression":
        if method.minimum is None and method.maximum is None:
            return "gone", 0
        return ("level", method.minimum) if method.minimum else ("refuse", 0)
    return "level", method.minimum or 0


def breaches(policy: Policy, original: dict, released: dict) -> list[str]:
    """Every cell of the file against the policy, and no code of ours."""
    (use,) = policy.purposes
    wrong = []
    for name, shown in released.items():
        each = next((d for d in use.data if d.name == name), None)
        if each is None or each.group == Group.EI:
            wrong.append(f"{name} is there")
            continue
        demand, level = demand_by_hand(each.anonymization)
        if demand == "gone" and (set(shown) == {"*"} or set(shown) == {""}):
            continue  # one mark for all says nothing
        if demand != "level":
            wrong.append(f"{name} is there though {demand}")
            continue
        finer = {label for row in ENTRIES[name].values() for label in row[:level]}
        if not each.anonymization or not each.anonymization.hierarchy:
            finer = set(original[name]) if level else set()
        wrong += [f"{name} shows a value below level {level}" for cell in shown if cell in finer]
    return wrong


@pytest.mark.parametrize("seed", range(30))
def test_random_policies_by_a_naive_look_at_the_file(tmp_path, seed):
    rng = random.Random(seed)
    table, policy = random_table(rng), random_policy(rng)
    language = rng.choice(["ours", "ours", "lpl-a", "lpl-b", "lpl-xml"])
    with contextlib.suppress(PolicyError):  # several rows of entries cannot be said in LPL
        policy = parse_policy(write_policy(policy, language), name="p")[0]
    demands = [demand_by_hand(d.anonymization)[0] for d in policy.purposes[0].data]
    try:
        policy.enforce(sf.read(pl.DataFrame(table)), seed=seed, **USE).write(tmp_path / "out")
    except SfumatoError as problem:
        refusal = str(problem)
        assert "refuse" not in demands or "unknown_method" in refusal
        return
    assert "refuse" not in demands
    assert breaches(policy, table, cells(tmp_path / "out")) == []
    assert policy.comply(tmp_path / "out" / "share", **USE).holds


@pytest.mark.parametrize("seed", range(20))
def test_comply_agrees_with_a_naive_look_at_the_file(tmp_path, seed):
    """A release made under one policy, held against another: what the file breaks, comply must
    say.
    """
    rng = random.Random(1000 + seed)
    table, policy, other = random_table(rng), random_policy(rng), random_policy(rng)
    try:
        policy.enforce(sf.read(pl.DataFrame(table)), seed=seed, **USE).write(tmp_path / "out")
    except SfumatoError:
        return
    broken = breaches(other, table, cells(tmp_path / "out"))
    if broken:
        assert not other.comply(tmp_path / "out" / "share", **USE).holds, broken


def own_policy(rng: random.Random, age: str, zip_code: str) -> Policy:
    """A person's own policy: entries of that person's values, and a random method for each."""

    def method(row) -> Anonymization:
        if rng.random() < 0.05:
            return Anonymization(rng.choice(["Deletion", "Suppression"]))
        low = rng.choice([0, 0, 1, 2])
        return Anonymization(
            "Suppression" if low and rng.random() < 0.3 else "Generalization", low, 2, (row,)
        )

    data = (
        Datum("Name", Group.EI),
        Datum("Row", Group.NSD),
        Datum("Sex", Group.QID),
        Datum("Age", Group.QID, anonymization=method(AGES[age])),
        Datum("Zip", rng.choice([Group.QID, Group.SD]), anonymization=method(ZIPS[zip_code])),
    )
    return Policy(
        "own",
        purposes=(
            Purpose(
                "research",
                data=data,
                recipients=(Recipient("university"),),
                models=(k_anonymity(1),),
            ),
        ),
    )


@pytest.mark.parametrize("seed", range(20))
def test_what_each_person_asks_for_is_in_that_persons_row(tmp_path, seed):
    rng = random.Random(7000 + seed)
    count = rng.randint(3, 10)
    ages, zips = (
        [rng.choice(list(AGES)) for _ in range(count)],
        [rng.choice(list(ZIPS)) for _ in range(count)],
    )
    names = [f"n{i}" for i in range(count)]
    own = {
        name: own_policy(rng, age, zip_) for name, age, zip_ in zip(names, ages, zips, strict=True)
    }
    frame = pl.DataFrame(
        {"Name": names, "Row": list(range(count)), "Sex": ["f"] * count, "Age": ages, "Zip": zips}
    )
    sf.Policies.of(own).enforce(sf.read(frame), by="Name", seed=seed, **USE).write(tmp_path / "out")
    released = cells(tmp_path / "out")
    for column in ("Age", "Zip"):
        methods = [policy.purposes[0].datum(column).anonymization for policy in own.values()]
        gone = any(demand_by_hand(method)[0] == "gone" for method in methods)
        assert (column not in released) is gone
        for place, cell in zip(released["Row"], released.get(column, []), strict=False):
            method = methods[int(place)]
            assert cell not in method.hierarchy[0][: demand_by_hand(method)[1]]
