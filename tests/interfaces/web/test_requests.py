"""What tasks and pages are asked for, as forms draw it."""

from __future__ import annotations

import pytest

from sfumato.interfaces.web.forms import FormError, form_of, read_form
from sfumato.interfaces.web.requests import BoundRequest, ReadingRequest


def test_a_bound_is_drawn_from_its_fields_and_read_back() -> None:
    kinds = {field.name: field.kind for field in form_of(BoundRequest("at_most", 0.1))}
    assert kinds == {"way": "segments", "bound": "number", "refuse": "switch"}
    entered = read_form(BoundRequest, {"way": "at_least", "bound": "0.9", "refuse": "true"})
    assert entered == BoundRequest("at_least", 0.9, refuse=True)


def test_a_bound_without_a_number_is_refused_at_its_field() -> None:
    with pytest.raises(FormError) as refused:
        read_form(BoundRequest, {"way": "at_most", "bound": ""})
    assert list(refused.value.problems) == ["bound"]


def test_only_what_was_said_of_reading_becomes_an_option() -> None:
    assert ReadingRequest().options() == {}
    said = ReadingRequest(delimiter="tab", blanks=True)
    assert said.options() == {"delimiter": "tab", "blanks": "strip"}
