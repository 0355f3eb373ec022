"""Our own form of a policy: the nouns as JSON, strictly read, with a published JSON Schema."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from sfumato.policy.dialects.own_format import json_schema, to_ours
from tests.policy.written_policies import POLICIES


@pytest.mark.slow
@given(policy=POLICIES)
def test_what_we_write_fits_the_schema_we_publish(policy):
    import jsonschema

    jsonschema.Draft202012Validator(json_schema()).validate(json.loads(json.dumps(to_ours(policy))))
