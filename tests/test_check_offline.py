"""The check that built pages fetch nothing from the network finds what a browser would fetch."""

from __future__ import annotations

import sys

import pytest

from tools import check_offline

FETCHES = {
    "script": '<script src="https://cdn.example/x.js"></script>',
    "without scheme": '<script src="//cdn.example/x.js"></script>',
    "upper case": '<IMG SRC="HTTPS://cdn.example/x.png">',
    "style sheet": '<link rel="stylesheet" href="https://fonts.example/css">',
    "one of several relations": '<link rel="shortcut icon" href="https://cdn.example/x.ico">',
    "srcset": '<img src="x.png" srcset="x.png 1x, https://cdn.example/y.png 2x">',
    "frame": '<iframe src="https://example.org"></iframe>',
    "inline style": '<p style="background: url(https://cdn.example/x.png)">',
    "style element": "<style>@import 'https://fonts.example/css';</style>",
    "font": "<style>@font-face { src: url('//cdn.example/x.woff2') }</style>",
}
STAYS = {
    "link to click": '<a href="https://example.org">there</a>',
    "local script": '<script src="_static/x.js"></script>',
    "canonical address": '<link rel="canonical" href="https://example.org">',
    "text": "<p>url(https://example.org)</p>",
    "text after a style": "<style>p { color: red }</style><p>@import https://example.org</p>",
    "data": '<img src="data:image/png;base64,AAAA">',
    "namespace": '<svg xmlns="http://www.w3.org/2000/svg"></svg>',
}


@pytest.mark.parametrize("page", FETCHES.values(), ids=FETCHES.keys())
def test_finds(page):
    assert len(check_offline.remote_assets(page)) == 1


@pytest.mark.parametrize("page", STAYS.values(), ids=STAYS.keys())
def test_accepts(page):
    assert check_offline.remote_assets(page) == []


def test_exit_codes(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["check_offline.py", str(tmp_path)])
    assert check_offline.main() == 2
    (tmp_path / "index.html").write_text("<p>hello</p>")
    assert check_offline.main() == 0
    (tmp_path / "theme.css").write_text("@import url(https://fonts.example/css);")
    assert check_offline.main() == 1
    assert "fonts.example" in capsys.readouterr().out
