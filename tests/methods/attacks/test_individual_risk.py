"""Record-level risk of survey data: how many people of the population share a record's keys, judged
by the weights."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato import examples
from sfumato.core.schema import Attribute, Role
from sfumato.core.table import Table
from sfumato.methods.attacks.individual_risk import IndividualRisk, individual_risks
from tests.methods.attacks.test_unique_in_population import scene_of

K5 = ("urbrur", "roof", "walls", "water", "electcon")


def test_eight_weighted_records():
    # ALGORITHMS 10.3 (G30)
    found = individual_risks(examples.weighted_keys(), ("region", "work", "place"))
    expected = [0.017144, 0.022042, 0.022042, 0.177076, 0.011654, 0.297063, 0.402359, 0.017144]
    assert found.risks.round(6).tolist() == expected and found.expected == pytest.approx(
        0.966526, abs=1e-6
    )


@pytest.mark.parametrize(
    ("keys", "expected", "together"),
    [  # sdcMicro 5.8.1, measure_risk(testdata, keyVars, w, hid), global_risk_ER and hier_risk_ER
        (K5, 0.910618088277088, 4.03947815425461),
        ((*K5, "relat", "sex"), 10.7782989187348, 51.8129274359606),
    ],
)
def test_survey_like_sdcmicro(reference_data, keys, expected, together):
    frame = pl.read_csv(reference_data / "survey" / "testdata.csv", infer_schema_length=None)
    frame = frame.select(*keys, "sampling_weight", "ori_hid")
    table = Table(frame).with_roles(quasi=list(keys), weight="sampling_weight", keep="ori_hid")
    homes = frame["ori_hid"].rank("dense").to_numpy().astype(np.int64) - 1
    found = individual_risks(table, keys, homes)
    assert found.expected == pytest.approx(
        expected, rel=2e-3
    )  # sdcMicro approximates classes of 3 and more
    assert found.household.sum() == pytest.approx(together, rel=2e-3)


def test_households_share_their_risk():
    frame = pl.DataFrame(
        {"a": [1, 2, 3, 3], "w": [10.0, 20.0, 5.0, 5.0], "home": ["x", "x", "y", "z"]}
    )
    table = Table(frame).with_roles(quasi="a", weight="w", keep="home")
    table = table.with_attribute("home", Attribute((Role.HOUSEHOLD,)))
    alone = individual_risks(table, ("a",)).risks
    found = individual_risks(table, ("a",), np.array([0, 0, 1, 2])).household
    assert found[0] == found[1] == pytest.approx(1 - (1 - alone[0]) * (1 - alone[1]))
    assert found[2] == pytest.approx(alone[2])
    assert IndividualRisk().attack(scene_of(table)).value == pytest.approx(found.mean())
    assert IndividualRisk(households=False).attack(scene_of(table)).value == pytest.approx(
        alone.mean()
    )
