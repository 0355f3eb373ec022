"""What libraries below the workbench log, without a word of the data.

They log addresses that were asked for and tracebacks with what an error said; both may hold a
value. So nothing of it is written but where an error came from and of which kind it was.
``SFUMATO_DEBUG`` shows all of it, as everywhere.
"""

from __future__ import annotations

import logging
import os
import sys

QUIETED = (
    "nicegui",
    "uvicorn",
    "uvicorn.error",
    "uvicorn.access",
    "uvicorn.asgi",
    "starlette",
    "fastapi",
    "asyncio",
    "socketio",
    "socketio.server",  # these two begin to write by themselves where nobody set their level
    "engineio",
    "engineio.server",
)
# What the layers below say when a browser leaves before it was answered: nothing is wrong then.
LEFT = "No response returned."


class Discreet(logging.Handler):
    """Writes one line an error: its kind and where it was raised; everything that is no error is
    left out.
    """

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line."""
        line = log_line(record)
        if line:
            sys.stderr.write(line + "\n")


def log_line(record: logging.LogRecord) -> str:
    """What is written of a record, never what it says itself; empty: nothing.

    >>> log_line(
    ...     logging.LogRecord(
    ...         "nicegui",
    ...         logging.WARNING,
    ...         "pages.py",
    ...         7,
    ...         "http://host/?zip=12345 not found",
    ...         None,
    ...         None,
    ...     )
    ... )
    ''
    """
    error = record.exc_info[1] if record.exc_info else None
    if error is None and isinstance(record.msg, BaseException):
        error = record.msg
    if record.levelno < logging.ERROR or (isinstance(error, RuntimeError) and str(error) == LEFT):
        return ""
    if error is None:
        return (
            f"error: {record.name} complained at"
            f" {os.path.basename(record.pathname)}:{record.lineno}"
        )
    return f"error: {bug_sentence(error)} Set SFUMATO_DEBUG=1 to see details, which may show data."


def bug_sentence(error: BaseException) -> str:
    """What is said of our own bugs: of which kind, and where; never what the error itself says,
    which may quote a person.
    """
    return f"This is a bug of sfumato: {type(error).__name__}{raised_at(error)}."


def raised_at(error: BaseException) -> str:
    """The file and line where an error was raised; nothing where that is not known."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return ""
    return f" at {os.path.basename(last.tb_frame.f_code.co_filename)}:{last.tb_lineno}"


def keep_quiet() -> None:
    """Let all these libraries log through :class:`Discreet` alone."""
    if os.environ.get("SFUMATO_DEBUG"):
        return
    handler = Discreet()
    for name in QUIETED:
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
        logger.setLevel(logging.ERROR)
