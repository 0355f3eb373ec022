"""Names that users rely on are pinned: exit codes, Python, commands, and everything a recipe can
name.

``make golden ARGS=--update`` stores new names and prints which changed: then it is a decision.
"""

from __future__ import annotations

import copy

from tests.golden.names import differences, exit_codes, public_names, stored_names


def test_names_are_as_decided():
    assert differences(stored_names(), public_names()) == []


def test_a_name_that_comes_goes_or_changes_is_told():
    before = stored_names()
    after = copy.deepcopy(before)
    after["methods"]["table"]["models"]["k_anonymity"] = ["k", "size"]
    del after["methods"]["baskets"]["steps"]["item_recoding"]
    after["exit codes"]["Unsatisfiable"] = 8
    paths = [line.partition(":")[0] for line in differences(before, after)]
    assert paths == [
        "exit codes / Unsatisfiable",
        "methods / baskets / steps / item_recoding",
        "methods / table / models / k_anonymity",
    ]


def test_exit_codes_are_the_eight_of_the_documentation():
    documented = {*range(1, 8)}
    assert {code for code in exit_codes().values() if code < 100} - {0} == documented
