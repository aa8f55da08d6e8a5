# SPDX-License-Identifier: Apache-2.0
"""Decision records."""

import pytest

from rpcapi import errors, objects

DECISION = {"request_id": "req-1", "partition": "p", "document": {"best": [{"name": "h", "score": 0.5}]}}


def test_last_page_has_no_marker():
    page = objects.DecisionPage.of(decisions=[objects.Decision.of(**DECISION)])
    copied = objects.DecisionPage.obj_from_primitive(page.obj_to_primitive())
    assert copied.marker is None
    assert copied.decisions[0].document == DECISION["document"]


@pytest.mark.parametrize("document", [{"score": float("inf")}, {"at": object()}, {"hosts": {1, 2}}])
def test_document_is_plain_json(document):
    with pytest.raises(errors.MalformedObject, match="JSON"):
        objects.Decision.of(**{**DECISION, "document": document})
