"""What is logged holds no word of the data, and the history tells what changed."""

from __future__ import annotations

import logging
import sys

import pytest

from sfumato.interfaces.web.private_logging import QUIETED, Discreet, keep_quiet


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SFUMATO_DEBUG", raising=False)
    before = {
        name: (
            list(logging.getLogger(name).handlers),
            logging.getLogger(name).propagate,
            logging.getLogger(name).level,
        )
        for name in QUIETED
    }
    keep_quiet()
    yield
    for name, (handlers, propagate, level) in before.items():
        logger = logging.getLogger(name)
        logger.handlers[:], logger.propagate = handlers, propagate
        logger.setLevel(level)


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("name", QUIETED)
def test_nothing_that_libraries_log_shows_a_value(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    logger = logging.getLogger(name)
    secret = "Ms. Smith of 12345"
    logger.warning("http://127.0.0.1/?who=%s not found", secret)
    logger.info(secret)
    assert capsys.readouterr().err == ""
    logger.error("failed for %s", secret)
    try:
        raise ValueError(secret)
    except ValueError as error:
        logger.exception(error)
        logger.error("Task exception was never retrieved", exc_info=sys.exc_info())
    told = capsys.readouterr().err
    assert "Smith" not in told and "12345" not in told and "Traceback" not in told
    assert (
        told.count("This is a bug of sfumato: ValueError at test_private_logging.py:") == 2
        and len(told.splitlines()) == 3
    )


@pytest.mark.usefixtures("quiet")
def test_a_browser_that_left_is_no_bug(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise RuntimeError("No response returned.")
    except RuntimeError:
        logging.getLogger("uvicorn.error").exception("Exception in ASGI application")
    assert capsys.readouterr().err == ""


def test_all_of_it_is_shown_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_DEBUG", "1")
    keep_quiet()
    assert not any(
        isinstance(handler, Discreet)
        for name in QUIETED
        for handler in logging.getLogger(name).handlers
    )
