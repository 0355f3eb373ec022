"""The command line: one file a command."""

from __future__ import annotations

import os
import sys

from sfumato.errors import SfumatoError

INTERRUPTED = 130
INTERNAL = 3


def main() -> None:
    """Run the command line and leave with the right exit code."""
    from sfumato.cli.app import Interrupted, build_app
    from sfumato.core.interrupts import pressed, watching

    with watching():
        try:
            build_app()()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except (KeyboardInterrupt, Interrupted):
            _fail(f"interrupted; {_standing()}", INTERRUPTED)
        except SystemExit:
            raise
        except BaseException as error:  # a panic inside of polars is no Exception
            if pressed():  # inside of a compiled loop or a callback Ctrl-C comes out as some other error
                _fail(f"interrupted; {_standing()}", INTERRUPTED)
            if isinstance(error, SfumatoError):
                _fail(str(error), error.exit_code)
            if os.environ.get("SFUMATO_DEBUG"):
                raise
            _fail(_bug(error), INTERNAL)


def _standing() -> str:
    """What was written before it ended."""
    from sfumato.core.interrupts import done

    return "; ".join(done()) or "nothing was written"


def _fail(message: str, code: int) -> None:
    from sfumato.cli.talk import tell

    for line in message.split("\n"):
        tell(f"[bold red]error:[/] {_escaped(line)}")
    sys.exit(code)


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _bug(error: BaseException) -> str:
    """Where it broke, without the message: it could hold a data value."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = (
        f"{os.path.basename(trace.tb_frame.f_code.co_filename)}, line {trace.tb_lineno}" if trace else "unknown place"
    )
    return (
        f"this is a bug in sfumato ({type(error).__name__} in {place}); {_standing()}.\n"
        "Set SFUMATO_DEBUG=1 to see the details (they may show data values) and report it."
    )
