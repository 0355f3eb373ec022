"""Work on what strangers wrote: it may compute only for so long, and the process that holds the
data goes on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from sfumato.core.portable import computed, raise_in
from sfumato.interfaces.web.fields import Fields

if TYPE_CHECKING:
    from sfumato.core.progress import Progress
    from sfumato.errors import SfumatoError

Answer = TypeVar("Answer")
PAUSE = 0.02
# Seconds in which a thread that was told to end does so, unless it is in one endless call of a
# library: then it is left alone.
PATIENCE = 2.0


class _Ended(BaseException):
    """The thread computed for too long, or nobody wants its answer any more."""


def within(
    seconds: float, act: Callable[[], Answer], *, too_long: SfumatoError, progress: Progress
) -> Answer:
    """What ``act`` gives; after so many seconds of computing the error ``too_long`` is raised. A
    wish to stop is heeded.

    >>> from sfumato.errors import UnreadableInput
    >>> within(
    ...     5.0,
    ...     lambda: 7,
    ...     too_long=UnreadableInput("that is no policy"),
    ...     progress=lambda share, words: None,
    ... )
    7
    """
    came: Fields = {}

    def inside() -> None:
        try:
            came["answer"] = act()
        except _Ended:
            pass
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is waited for
            came["error"] = error

    thread = threading.Thread(target=inside, daemon=True)
    thread.start()
    begun = time.monotonic()
    try:
        while thread.is_alive():
            thread.join(PAUSE)
            if thread.is_alive() and computed(thread, begun) > seconds:
                raise too_long
            progress(0.0, "")
    except BaseException:
        raise_in(thread, _Ended)
        thread.join(PATIENCE)
        raise
    if "error" in came:
        raise came["error"]
    return came["answer"]  # type: ignore[no-any-return]
