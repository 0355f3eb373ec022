from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.hierarchies import MaskLeft, MaskRight, mask_left, mask_right
from tests.methods.hierarchies.contract import (
    keeps_the_contract,
    loses_nothing_at_first_and_all_at_the_top,
    understands_its_own_labels,
)


def test_zip_codes_from_the_right():
    assert mask_right(5).paths(["53711"], [1]).rows == (
        ("53711", "5371*", "537**", "53***", "5****", "*"),
    )


def test_zip_codes_from_the_left():
    assert mask_left(5).paths(["53711"], [1]).rows == (
        ("53711", "*3711", "**711", "***11", "****1", "*"),
    )


def test_another_character():
    assert mask_right(3, char="x").paths(["537"], [1]).rows == (("537", "53x", "5xx", "*"),)


def test_short_values_are_hidden_completely_and_stay_apart():
    paths = keeps_the_contract(mask_right(4), ["ab", "abcd", "x"])
    assert paths.rows == (
        ("ab", "a*", "**", "**", "*"),
        ("abcd", "abc*", "ab**", "a***", "*"),
        ("x", "*", "*", "*", "*"),
    )


def test_masked_values_are_inner_nodes():
    paths = keeps_the_contract(mask_right(5), ["53711", "537**", "*****", "*"])
    assert paths.rows[1] == ("537**", "537**", "537**", "53***", "5****", "*")
    assert paths.rows[2] == ("*****",) * 5 + ("*",)


def test_loss_counts_the_values_that_occur():
    paths = mask_right(5).paths(["53710", "53711", "53712", "53799", "54000"], [1] * 5)
    assert paths.loss[1]["5371*"] == 2 / 4
    assert paths.loss[2]["537**"] == 3 / 4
    assert paths.loss[3]["54***"] == 0.0
    assert paths.loss[5] == {"*": 1.0}


def test_a_hidden_value_has_lost_all_that_its_mask_hides():
    paths = mask_right(5).paths(["53710", "53711", "54000", "537**", "*****", "*"], [1] * 6)
    assert paths.loss[0] == {"53710": 0, "53711": 0, "54000": 0, "537**": 1 / 2, "*****": 1, "*": 1}


def test_masks_with_nothing_finer_are_leaves():
    paths = mask_right(5).paths(["537**", "538**", "5****"], [1] * 3)
    assert paths.loss[0] == {"537**": 0.0, "538**": 0.0, "5****": 1.0}


def test_longer_values_are_counted_and_the_fix_is_named():
    with pytest.raises(
        SchemaError, match=r"mask_right\(3\): 2 of 3 distinct values .* use mask_right\(9\)"
    ) as caught:
        mask_right(3).paths(["123456789", "1234", "123"], [1] * 3)
    assert "1234" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong", [{"length": 0}, {"length": 3, "char": ""}, {"length": 3, "char": "**"}]
)
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ParameterError):
        MaskRight(**wrong)


def test_codes_read_as_numbers_are_filled_up():
    rows = mask_right(5, pad="0").paths(["3601", "53711", "601", "36**", "*"], [1] * 5).rows
    assert rows == (
        ("3601", "0360*", "036**", "03***", "0****", "*"),
        ("53711", "5371*", "537**", "53***", "5****", "*"),
        ("601", "0060*", "006**", "00***", "0****", "*"),
        ("36**", "36**", "36**", "03***", "0****", "*"),
        ("*",) * 6,
    )
    assert mask_left(5, pad="0").paths(["3601"], [1]).rows == (
        ("3601", "*3601", "**601", "***01", "****1", "*"),
    )
    assert mask_left(5, pad="0").paths(["*3601"], [1]).rows == (
        ("*3601", "*3601", "**601", "***01", "****1", "*"),
    )


@given(st.lists(st.integers(0, 99999), min_size=1, max_size=10, unique=True))
def test_filled_up_numbers_have_the_paths_of_their_codes(numbers):
    texts, codes = [str(n) for n in numbers], [f"{n:05}" for n in numbers]
    for mask in (mask_right, mask_left):
        as_numbers = mask(5, pad="0").paths(texts, [1] * len(texts)).rows
        as_codes = mask(5).paths(codes, [1] * len(codes)).rows
        assert [row[1:] for row in as_numbers] == [row[1:] for row in as_codes]
        assert [row[0] for row in as_numbers] == texts


def test_numbers_that_may_have_lost_their_zeros_are_refused():
    table = sf.read(pl.DataFrame({"zip": [3601, 53711]})).with_roles(quasi="zip")
    with pytest.raises(SchemaError, match="leading zeros may be lost") as refused:
        sf.assess(table.with_hierarchies(zip=mask_right(5)))
    assert "3601" not in str(refused.value) and "'zip'" in str(refused.value)
    with pytest.raises(SchemaError, match="leading zeros may be lost"):
        sf.anonymize(
            table.with_hierarchies(zip=mask_right(5)), [sf.KAnonymity(2)], [sf.GlobalRecoding()]
        )
    assert sf.assess(table.with_hierarchies(zip=mask_right(5, pad="0"))).records == 2
    text = sf.read(pl.DataFrame({"zip": ["3601", "53711"]})).with_roles(quasi="zip")
    assert sf.assess(text.with_hierarchies(zip=mask_right(5))).records == 2


words = st.lists(st.text("ab1", max_size=5), min_size=1, max_size=15, unique=True)


@given(words, st.integers(5, 7), st.sampled_from([MaskRight, MaskLeft]), st.sampled_from("*#"))
def test_contract(values, length, side, char):
    hierarchy = side(length, char)
    paths = keeps_the_contract(hierarchy, values)
    understands_its_own_labels(hierarchy, values)
    if len(values) > 1:
        loses_nothing_at_first_and_all_at_the_top(paths)


@given(words, st.integers(5, 7))
def test_agrees_with_the_definition(values, length):
    """Below the top, two values meet on level j when they are equally long and agree on all but j
    characters.
    """
    right = mask_right(length).paths(values, [1] * len(values)).rows
    left = mask_left(length).paths(values, [1] * len(values)).rows
    for level in range(length):
        for i, one in enumerate(values):
            for j, other in enumerate(values):
                same = len(one) == len(other)
                kept = max(0, len(one) - level)
                assert (right[i][level] == right[j][level]) == (same and one[:kept] == other[:kept])
                assert (left[i][level] == left[j][level]) == (
                    same and one[len(one) - kept :] == other[len(one) - kept :]
                )
