"""Paths that are none, and folders that cannot be: told in a sentence, before any work, with
nothing left behind.
"""

from __future__ import annotations

import errno

import pytest


@pytest.mark.parametrize("command", [("profile",), ("assess",), ("run", "-o", "out")])
def test_an_empty_path_is_not_this_folder(sfumato, tmp_path, monkeypatch, recipe, command):
    """A variable of the shell that was never set: the system would take it for the folder that one
    is in.
    """
    monkeypatch.chdir(tmp_path)
    more = () if command == ("profile",) else ("-r", recipe)
    done = sfumato(command[0], "", *more, *command[1:])
    assert (
        done.code == 5
        and "path of the table is empty" in done.err
        and not (tmp_path / "out").exists()
    )


@pytest.mark.parametrize("command", ["profile", "explain", "assess"])
def test_a_path_that_is_too_long_is_no_bug(sfumato, command):
    done = sfumato(command, "x" * 300)
    assert done.code == 5 and "longer than the system allows" in done.err


def test_a_comparison_says_at_once_that_its_folder_cannot_be(sfumato, tmp_path, visits, recipe):
    there = tmp_path / "file"
    there.write_text("")
    done = sfumato("compare", visits, recipe, "-o", there, "-q")
    assert done.code == 2 and "cannot write" in done.err and there.read_text() == ""


@pytest.mark.parametrize("lack", [MemoryError(), OSError(errno.ENOMEM, "Cannot allocate memory")])
def test_too_little_memory_is_no_bug(sfumato, visits, monkeypatch, lack):
    def reads(*args, **kwargs):
        raise lack

    monkeypatch.setattr("sfumato.interfaces.api.read", reads)
    outcome = sfumato("profile", visits)
    assert outcome.code == 5
    assert "not enough memory for this; nothing was written" in outcome.err
