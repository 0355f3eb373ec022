"""Starting the workbench: a socket of this machine, a token, a browser."""

from __future__ import annotations

from sfumato.interfaces.web import server


def test_names_and_addresses_of_a_place() -> None:
    assert server.Reach().names(8123) == {"127.0.0.1:8123", "localhost:8123"}
    assert server.Reach(port=80).names(80) == {
        "127.0.0.1:80",
        "localhost:80",
        "127.0.0.1",
        "localhost",
    }
    assert server.Reach("::1").names(443) == {"[::1]:443", "[::1]"}
    assert server.Reach("Bench.example").names(8443) == {"bench.example:8443"}
    assert server.Reach().address(8123, "t") == "http://127.0.0.1:8123/?token=t"
    assert server.Reach("::1").address(8123, "t") == "https://[::1]:8123/?token=t"
