"""The Layered Privacy Language as XML: the parts of a list are ``<item>``; read without DTDs and
entities."""

from __future__ import annotations

import pytest

from sfumato.errors import UnreadableInput
from sfumato.policy.dialects.dialect_detection import parse_policy, write_policy
from tests.policy.dialects.test_dialect_detection import study_of_one_row


def test_a_finding_in_xml_names_its_line():
    text = write_policy(study_of_one_row(), "lpl-xml").replace(
        "<privacyGroup>QID", "<privacyGroup>X"
    )
    finding = parse_policy(text)[1].errors[0]
    assert "<privacyGroup>X" in text.splitlines()[finding.line - 1]


BOMB = """<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;">]>
<layeredPrivacyPolicy><name>&lol2;</name></layeredPrivacyPolicy>"""


OUTSIDE = """<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><layeredPrivacyPolicy><name>&f;</name></layeredPrivacyPolicy>"""


@pytest.mark.parametrize(
    "text", [BOMB, OUTSIDE, '<!DOCTYPE x SYSTEM "http://example.org/x.dtd"><x/>']
)
def test_xml_with_a_dtd_is_refused(text):
    with pytest.raises(UnreadableInput, match="DTD"):
        parse_policy(text)


def test_xml_attributes_are_read_as_elements_are():
    text = """<lpl xmlns="urn:x" name="shop"><purposeList><item name="research" required="true">
      <dataList><item><name>age</name><privacyGroup>QID</privacyGroup></item></dataList></item></purposeList></lpl>"""
    policy, findings = parse_policy(text)
    assert not list(findings)
    assert (
        policy.name == "shop"
        and policy.purposes[0].required
        and policy.purposes[0].data[0].name == "age"
    )
