"""Many people: equal policies are one, and rows are recoded in one pass."""

from __future__ import annotations

import time

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import SchemaError, UnreadableInput
from sfumato.policy.dialects.dialect_detection import write_policy
from sfumato.policy.enforce import enforce
from sfumato.policy.people import COLUMN, NOBODY, Policies, digest_of
from sfumato.policy.policy import Policy
from tests.policy.written_policies import (
    datum,
    k_anonymity,
    personal,
    purpose,
    study,
    three_policies,
)


def test_labels_do_not_depend_on_the_order_of_people():
    own = three_policies()
    backwards = dict(reversed(own.items()))
    assert Policies.of(own).label_of == Policies.of(backwards).label_of


def test_assigned():
    policies = Policies.of(three_policies())
    table = policies.assigned(sf.read(pl.DataFrame({"Name": ["Alice", None, "Zoe"]})), "Name")
    assert table.column(COLUMN).to_list() == [policies.label_of["Alice"], NOBODY, NOBODY]
    assert table.schema.dropped_columns == (COLUMN,)


def test_a_column_of_that_name_is_not_overwritten():
    table = sf.read(pl.DataFrame({"Name": ["Alice"], COLUMN: ["gold"]}))
    with pytest.raises(SchemaError, match="rename it"):
        Policies.of(three_policies()).assigned(table, "Name")


def test_a_folder_of_policies(tmp_path):
    for name, policy in three_policies().items():
        (tmp_path / f"{name}.xml").write_text(write_policy(policy, "lpl-xml"), encoding="utf-8")
    found = Policies.load(tmp_path, "preset:sdc_practice_3")
    assert found.label_of == Policies.of(three_policies()).label_of
    assert len(found.everybody) == 1
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnreadableInput, match="holds no policies"):
        Policies.load(tmp_path / "empty")


def test_the_digest_is_of_the_meaning_not_of_the_dialect():
    from sfumato.policy.dialects.dialect_detection import parse_policy

    policy = personal("25", "53711")
    assert {
        digest_of(parse_policy(write_policy(policy, d))[0])
        for d in ("ours", "lpl-a", "lpl-b", "lpl-xml")
    } == {digest_of(policy)}
    assert digest_of(study()) != digest_of(policy)


@pytest.mark.slow
def test_one_policy_per_person_without_one_pass_per_person():
    """50,000 people with four kinds of policies: the time of the steps is that of a few passes."""
    size = 50_000
    generator = np.random.default_rng(1)
    wishes = [(age, zip_code) for age in (0, 1) for zip_code in (0, 2)]
    kinds = [
        Policy(
            "own",
            purposes=(
                purpose(
                    datum("id", "EI"),
                    datum("age", "QID", age),
                    datum("zip", "QID", zip_code),
                    models=[k_anonymity(5)],
                ),
            ),
        )
        for age, zip_code in wishes
    ]
    table = pl.DataFrame(
        {
            "id": np.arange(size).astype(str),
            "age": generator.integers(0, 90, size),
            "zip": generator.integers(10_000, 10_400, size).astype(str),
        }
    )
    dataset = sf.read(table).with_roles(drop="id", quasi=["age", "zip"])
    dataset = dataset.with_hierarchies(age=sf.intervals(10, 30), zip=sf.mask_right(5))
    start = time.process_time()
    policies = Policies.of({str(i): kinds[i % 4] for i in range(size)})
    made = enforce(
        policies, dataset, by="id", purpose="research", recipient="university", shuffle=False
    )
    assert time.process_time() - start < 30  # about 1 s; one pass per person would be hours
    levels = next(plan for name, plan in made.release.plans if name == "personal_levels")
    zips = levels.columns["zip"].to_list()
    assert all(z.endswith("**") == (i % 4 in (1, 3)) for i, z in enumerate(zips[:4000]))
    assert made.record["people"] == size and len(made.record["own_policies"]) == 4
