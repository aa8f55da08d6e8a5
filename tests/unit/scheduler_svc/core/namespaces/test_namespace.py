# SPDX-License-Identifier: Apache-2.0
"""Writer and schema of one namespace."""

import pytest

from rpcapi import errors
from scheduler_svc.core.namespaces.namespace import Namespace

RACK = {"type": "object", "properties": {"watts": {"$ref": "#/$defs/amount"}}, "$defs": {"amount": {"minimum": 0}}}


def test_valid_document_passes():
    Namespace("rack", "rackd", RACK).check_document("h1", {"watts": 5})


def test_schema_error_names_document_path_and_reason_only():
    declared = Namespace("rack", "rackd", {"properties": {"a": {"properties": {"b": {"type": "integer"}}}}})
    with pytest.raises(errors.InvalidHostState) as caught:
        declared.check_document("h1", {"a": {"b": "x" * 5000}})
    raised = caught.value.sentence
    assert raised.startswith("Host state of 'h1' in namespace 'rack' is refused: a.b: 'xxx")
    assert raised.endswith("is not of type 'integer'")
    assert len(raised) < 300


def test_endlessly_recursive_schema_is_refused():
    with pytest.raises(errors.InvalidHostState, match="nested too deeply"):
        Namespace("rack", "rackd", {"$ref": "#"}).check_document("h1", {})


def test_only_the_declared_writer_may_write():
    Namespace("rack", "rackd", RACK).check_writer("rackd")
    with pytest.raises(errors.WriterRefused, match="its declared writer is 'rackd'"):
        Namespace("rack", "rackd", RACK).check_writer("gantt")


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "thing"}, "not a JSON Schema"),
        ({"$ref": "https://example.org/schema.json"}, "only references within the file"),
        ({"properties": {"a": {"$ref": "#/$defs/nowhere"}}}, "cannot be resolved"),
    ],
)
def test_invalid_schema_is_rejected_at_declaration(schema, why):
    with pytest.raises(ValueError, match=why):
        Namespace("rack", "rackd", schema)
