"""Who is told when something changed."""

from __future__ import annotations

from sfumato.interfaces.web.listeners import Listener, Listeners


def test_all_who_listen_are_told_until_they_leave() -> None:
    listeners, calls = Listeners(), []
    leave = listeners.listen(lambda: calls.append("first"))
    listeners.listen(lambda: calls.append("second"))
    listeners.tell()
    leave()
    leave()  # whoever left already may say so again
    listeners.tell()
    assert calls == ["first", "second", "second"]


def test_one_that_leaves_while_others_are_told_disturbs_nobody() -> None:
    listeners, calls = Listeners(), []
    leaves: list[Listener] = []

    def leave_when_told() -> None:
        leaves.pop()()

    leaves.append(listeners.listen(leave_when_told))
    listeners.listen(lambda: calls.append("told"))
    listeners.tell()
    assert calls == ["told"]
