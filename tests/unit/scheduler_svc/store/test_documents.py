# SPDX-License-Identifier: Apache-2.0
"""Encoding of stored documents."""

import pytest

from rpcapi import errors
from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.records import ClaimGroup
from scheduler_svc.store import codecs, documents

STORED_CLAIM = {
    "schema": 1,
    "consumer": "c1",
    "attempt": 2,
    "generation": 3,
    "type": "INSTANCE",
    "project": "p",
    "user": "u",
    "state": "confirmed",
    "host": "h1/n1",
    "allocations": {"h1/n1": {"VCPU": 1}},
    "request_id": "req-1",
    "created_ms": 5,
    "alternates": "h2 h3",
}


def test_equal_documents_have_equal_encodings() -> None:
    assert documents.encode({"b": 1, "a": {"d": "ü", "c": []}}) == '{"a":{"c":[],"d":"ü"},"b":1}'
    assert documents.encode({"a": 1, "b": 2}) == documents.encode({"b": 2, "a": 1})


@pytest.mark.parametrize("other", [{"n": 1.0}, {"n": True}, {"n": "1"}, {"n": 1, "m": None}])
def test_documents_of_other_json_are_not_the_same(other: object) -> None:
    assert documents.is_same({"n": 1}, {"n": 1})
    assert not documents.is_same({"n": 1}, other)


@pytest.mark.parametrize("text", ['{"schema":2}', "{}", '{"schema":null}'])
def test_document_of_another_schema_is_rejected(text: str) -> None:
    with pytest.raises(errors.IncompatibleObject):
        documents.decode(text, "provider")


def test_declared_state_has_its_version_beside_the_document() -> None:
    assert documents.decode_state('{"schema":1,"version":7,"state":{"power":1}}') == (7, {"power": 1})


def test_claim_without_optional_fields_is_decoded() -> None:
    claim = documents.decode_claim(documents.encode(STORED_CLAIM))
    assert (claim.consumer, claim.attempt, claim.generation) == ("c1", 2, 3)
    assert claim.alternates == ("h2", "h3")
    assert (claim.deadline_ms, claim.group, claim.orphan_ms, claim.instance, claim.migration) == (None,) * 5
    assert documents.decode_claim(documents.encode({**STORED_CLAIM, "alternates": ""})).alternates == ()


@pytest.mark.parametrize("policy", GroupPolicy)
def test_claim_keeps_its_group(policy: GroupPolicy) -> None:
    group = ClaimGroup("g1", policy, 2)
    stored = {**STORED_CLAIM, "group": documents.encode_group(group), "deadline_ms": 9}
    claim = documents.decode_claim(documents.encode(stored))
    assert (claim.group, claim.deadline_ms) == (group, 9)


@pytest.mark.parametrize("change", [{"future": 1}, {"alternates": None}, {"group": {"id": "g"}}])
def test_claim_with_other_members_is_incompatible(change: dict[str, object]) -> None:
    with pytest.raises(errors.IncompatibleObject, match="stored claim"):
        documents.decode_claim(documents.encode(STORED_CLAIM | change))


def test_report_with_other_members_is_incompatible() -> None:
    former = {"schema": 1, "incarnation": 1, "sequence": 2, "agent": "a"}
    with pytest.raises(errors.IncompatibleObject, match="stored report"):
        codecs.REPORT.decode(documents.encode(former))
