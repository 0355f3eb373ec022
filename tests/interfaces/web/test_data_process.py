"""The process that holds the data and does the work, so that pages never wait and a run can be
ended."""

from __future__ import annotations

from sfumato.interfaces.web.data_process import task_function


def test_every_task_of_the_stages_is_found() -> None:
    names = [
        "columns",
        "alone",
        "suggest",
        "rows",
        "overview",
        "levels",
        "without_place",
        "search_levels",
    ]
    assert all(
        callable(task_function(name))
        for name in [*names, "begin", "groups", "regroup", "delimiter_of", "export_hierarchy"]
    )
