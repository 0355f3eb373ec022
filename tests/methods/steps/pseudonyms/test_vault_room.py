"""Looking into a vault: logged, or not at all."""

from __future__ import annotations

import os

import pytest

from sfumato import vault
from sfumato.errors import OutputError, ParameterError, UnreadableInput
from sfumato.methods.steps.pseudonyms.vault import Domain, remember
from tests.core.forged_journals import chain_again

KEY, OTHER = "a good key of thirty-two letters", "another key of thirty-two letter"
ENV, NEW = {"env": "TEST_VAULT_KEY"}, {"env": "TEST_VAULT_KEY_NEW"}


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setenv(ENV["env"], KEY)
    monkeypatch.setenv(NEW["env"], OTHER)
    file = tmp_path / "people.vault"
    remember(file, KEY.encode(), "", Domain("keyed", {"=Ann": "X1", "=Bo": "X2"}))
    remember(
        file, KEY.encode(), "study", Domain("counter", {"=Cy\x1f=1970": "1", "-\x1f=1980": "2"})
    )
    return file


def lines(path):
    return (path.parent / "people.vault.log").read_text().splitlines()


def test_goes_back_and_logs_it(path):
    named = vault.reidentify(path, ["X2", "X9", "X2"], key=ENV, reason=" ethics vote 7 ")
    assert named == {"X2": ("Bo",), "X9": None}
    (entry,) = vault.read_log(path)
    assert (entry.act, entry.reason, entry.domain, entry.asked, entry.found) == (
        "reidentify",
        "ethics vote 7",
        "",
        2,
        1,
    )
    assert entry.who and entry.when.endswith("+00:00")
    assert "Bo" not in lines(path)[0] and "X2" not in lines(path)[0]


def test_identities_of_several_columns(path):
    named = vault.reidentify(path, [1, 2], key=ENV, reason="why", domain="study")
    assert named == {"1": ("Cy", "1970"), "2": (None, "1980")}


@pytest.mark.parametrize("reason", ["", "  ", "x" * 1001])
def test_no_reason_no_names(path, reason):
    with pytest.raises(ParameterError, match="give a reason"):
        vault.reidentify(path, ["X1"], key=ENV, reason=reason)
    assert vault.read_log(path) == ()


def test_bad_questions(path, tmp_path):
    with pytest.raises(ParameterError, match="no pseudonyms"):
        vault.reidentify(path, [], key=ENV, reason="why")
    with pytest.raises(ParameterError, match="Did you mean 'study'"):
        vault.reidentify(path, ["1"], key=ENV, reason="why", domain="studdy")
    with pytest.raises(UnreadableInput, match="another key"):
        vault.reidentify(path, ["X1"], key=NEW, reason="why")
    for act in (
        lambda: vault.reidentify(tmp_path / "none", ["1"], key=ENV, reason="why"),
        lambda: vault.rotate(tmp_path / "none", ENV, NEW),
        lambda: vault.summary(tmp_path / "none", key=ENV),
    ):
        with pytest.raises(UnreadableInput, match="does not exist"):
            act()
    assert not list(tmp_path.glob("none*"))
    assert vault.read_log(path) == ()


def test_what_cannot_be_logged_is_not_told(path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(vault.os, "fsync", full)
    with pytest.raises(OutputError, match="nothing is done"):
        vault.reidentify(path, ["X1"], key=ENV, reason="why")


def test_an_interrupted_look_is_in_the_log_and_does_no_harm(path, monkeypatch):
    real = vault.write_whole

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(vault, "write_whole", stop)
    with pytest.raises(KeyboardInterrupt):
        vault.reidentify(path, ["X1"], key=ENV, reason="first")
    monkeypatch.setattr(vault, "write_whole", real)
    assert vault.reidentify(path, ["X1"], key=ENV, reason="second")["X1"] == ("Ann",)
    assert [e.reason for e in vault.read_log(path)] == ["first", "second"]


@pytest.mark.parametrize(
    "change", ["edit", "drop first", "drop last", "remove", "garbage", "swap", "written anew"]
)
def test_a_changed_log_is_noticed(path, change):
    for reason in ("one", "two", "three"):
        vault.reidentify(path, ["X1"], key=ENV, reason=reason)
    kept, file = lines(path), path.parent / "people.vault.log"
    edited = kept[1].replace("two", "harmless")
    changed = {
        "edit": [kept[0], edited, kept[2]],
        "drop first": kept[1:],
        "drop last": kept[:-1],
        "remove": [],
        "garbage": [*kept, "{"],
        "swap": [kept[1], kept[0], kept[2]],
        "written anew": chain_again([kept[0], edited, kept[2]], vault.VAULT_LOG)[0],
    }[change]
    file.write_text("".join(f"{line}\n" for line in changed))
    for act in (
        lambda: vault.summary(path, key=ENV),
        lambda: vault.reidentify(path, ["X1"], key=ENV, reason="four"),
        lambda: vault.rotate(path, ENV, NEW),
    ):
        with pytest.raises(UnreadableInput, match=r"was changed|not the file is unchanged written"):
            act()


def test_rotation_keeps_everyone_and_shuts_out_the_old_key(path):
    before = vault.summary(path, key=ENV)
    assert vault.rotate(path, ENV, NEW, reason="yearly") == 4
    with pytest.raises(UnreadableInput, match="another key"):
        vault.summary(path, key=ENV)
    assert vault.summary(path, key=NEW) == before
    assert vault.reidentify(path, ["X1"], key=NEW, reason="why") == {"X1": ("Ann",)}
    assert [e.act for e in vault.read_log(path)] == ["rotate", "reidentify"]
    with pytest.raises(ParameterError, match="the new key is the old one"):
        vault.rotate(path, NEW, NEW)


def test_an_interrupted_rotation_leaves_the_old_key(path, monkeypatch):
    def stop(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(vault.Path, "replace", stop)
    with pytest.raises(OutputError, match="the file is unchanged"):
        vault.rotate(path, ENV, NEW)
    monkeypatch.undo()
    os.environ[ENV["env"]] = KEY
    try:
        assert len(vault.summary(path, key=ENV)) == 2
    finally:
        del os.environ[ENV["env"]]


def test_the_summary_names_domains_only(path):
    assert vault.summary(path, key=ENV) == (
        vault.DomainSummary("", "keyed", 2),
        vault.DomainSummary("study", "counter", 2),
    )
