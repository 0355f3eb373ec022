"""Options are read from annotations, whether these are texts or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from sfumato.core.options import CommandOption, bundles_of, declared_fields, declared_in

if TYPE_CHECKING:
    from somewhere import OnlyForTypeCheckers

Seconds = Annotated[float, CommandOption("time for all")]


@dataclass(frozen=True)
class Base:
    panel: ClassVar[str] = "First"
    seconds: Seconds = 60.0
    silent: bool = True


@dataclass(frozen=True, kw_only=True)
class Derived(Base):
    panel: ClassVar[str] = "Second"
    file: Annotated[str, CommandOption("a file", panel="Files")]


@dataclass(frozen=True)
class Plain:
    nobody: int = 0


def verb(
    data: OnlyForTypeCheckers,
    *,
    seconds: Seconds = 5.0,
    columns: Annotated[
        tuple[str, ...], CommandOption("a column", ("--column",), typed=list[str])
    ] = (),
    roles: OnlyForTypeCheckers | None = None,
    options: Base = Base(),
    context: Plain = Plain(),
) -> None: ...


def test_keywords_with_an_option_are_declared_and_others_are_not_evaluated():
    declared = {one.name: (one.kind, one.default) for one in declared_in(verb)}
    assert declared == {"seconds": (float, 5.0), "columns": (list[str], ())}


def test_fields_keep_the_panel_of_the_class_that_declares_them():
    panels = {one.name: one.panel for one in declared_fields(Derived)}
    assert panels == {"seconds": "First", "file": "Files"}


def test_only_dataclasses_with_options_are_bundles():
    assert bundles_of(verb) == {"options": Base}
