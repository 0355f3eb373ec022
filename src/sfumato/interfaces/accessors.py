"""``df.sfumato.assess(quasi=[...])`` of pandas and polars frames, once this module is imported.

The same verbs with the same words; only the frame stands first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sfumato.interfaces import api

Roles = str | Sequence[str]


class FrameVerbs:
    """The verbs of sfumato, of one frame. Roles are given by name:
    ``quasi=["age"], sensitive=["diagnosis"]``.
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def profile(self) -> Any:
        """Propose roles, kinds and hierarchies; see :func:`sfumato.profile`."""
        return api.profile(self._frame)

    def judge(self, *promises: Any, **roles: Roles) -> Any:
        """Judge the frame under promises such as ``"k_anonymity:5"``; see :func:`sfumato.judge`."""
        return api.judge(self._frame, promises, roles=roles)

    def assess(self, *promises: Any, **roles: Roles) -> Any:
        """What an intruder can do with the frame as it is; see :func:`sfumato.assess`."""
        return api.assess(self._frame, promises, roles=roles)

    def anonymize(
        self, meet: Any, steps: Any, *, limits: Any = None, seed: Any = None, **roles: Roles
    ) -> Any:
        """Make a release of the frame; see :func:`sfumato.anonymize`."""
        return api.anonymize(self._frame, meet, steps, roles=roles, limits=limits, seed=seed)

    def run(self, recipe: Any, **options: Any) -> Any:
        """Make a release as a recipe says; see :func:`sfumato.run`."""
        return api.run(self._frame, recipe, **options)

    def check(self, recipe: Any, **options: Any) -> Any:
        """Judge the frame, as released, by a recipe; see :func:`sfumato.check`."""
        return api.check(self._frame, recipe, **options)


def _register() -> None:
    """Add the namespace to the frames of the libraries that are there."""
    import polars as pl

    to_polars: Callable[[Any], Any] = pl.api.register_dataframe_namespace("sfumato")
    to_polars(FrameVerbs)
    try:
        from pandas.api.extensions import register_dataframe_accessor
    except ImportError:  # pandas is an extra
        return
    register_dataframe_accessor("sfumato")(FrameVerbs)


_register()
