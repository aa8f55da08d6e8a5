# SPDX-License-Identifier: Apache-2.0
"""Vouching for unverified claims: only for the attempt and host that a record names."""

from dataclasses import replace
from typing import Any

import oslo_messaging as messaging
import pytest

from conductor.collaborators import Conductor, ServiceClients
from conductor.reconciliation import vouching
from conductor.store.memory import MemoryConductorStore
from conductor.store.records import SagaStep, StoreTimeouts
from rpcapi import objects
from rpcapi.resources.statuses import InstanceStatus
from tests.support.conductor.bench import request
from tests.support.conductor.conductors import make_conductor


class RecordingClaims:
    """The claims service of a partition; ``vouched`` has the host and references of each call."""

    def __init__(self) -> None:
        self.vouched: list[tuple[str, list[tuple[str, int]]]] = []
        self.down = False

    def vouch_for_claims(self, ctxt: object, host: str, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        if self.down:
            raise messaging.MessagingTimeout("no answer")
        self.vouched.append((host, refs.pairs()))
        count = len(refs.consumers)
        return objects.ClaimAnswers.of(
            consumers=refs.consumers,
            attempts=refs.attempts,
            answers=["confirmed"] * count,
            hosts=[host] * count,
            reasons=[""] * count,
            deadlines_ms=[None] * count,
        )


@pytest.fixture
def claims() -> RecordingClaims:
    return RecordingClaims()


def conductor(claims: RecordingClaims, **records: dict[str, Any]) -> Conductor:
    """Return a conductor with records of these instances on h1/n as attempt 2, with these changes."""
    store = MemoryConductorStore(StoreTimeouts())
    store.record(request(), list(records))
    stored = store.get(list(records))
    usual = {"status": InstanceStatus.ACTIVE, "step": SagaStep.DONE, "attempt": 2, "host": "h1/n"}
    for uuid, changes in records.items():
        store.write_without_lease([replace(stored[uuid], **{**usual, **changes})], wake=False)

    def client_of(partition: str) -> Any:
        assert partition == "cell"
        return claims

    return make_conductor(store, ServiceClients(None, None, client_of, "default"))  # type: ignore[arg-type]


def refs(*consumers: str, attempt: int = 2) -> objects.ClaimRefs:
    return objects.ClaimRefs.of(consumers=list(consumers), attempts=[attempt] * len(consumers))


def test_named_attempts_are_vouched_for_in_one_call(claims: RecordingClaims) -> None:
    vouching.check(
        conductor(claims, a={}, b={"status": InstanceStatus.ERROR}, c={"status": InstanceStatus.DELETING}),
        "cell",
        "h1",
        refs("a", "b", "c", "unknown"),
    )
    assert claims.vouched == [("h1", [("a", 2), ("b", 2), ("c", 2)])]


@pytest.mark.parametrize(
    "changes",
    [
        {"host": "h2/n"},
        {"host": None},
        {"attempt": 1},
        {"attempt": 3},
        {"status": InstanceStatus.DELETED},
        {"status": InstanceStatus.ERROR, "history": [{"attempt": 2, "host": "h1/n", "outcome": "lost", "reason": ""}]},
    ],
)
def test_other_attempts_and_hosts_are_not_vouched_for(claims: RecordingClaims, changes: dict[str, Any]) -> None:
    vouching.check(conductor(claims, a=changes), "cell", "h1", refs("a"))
    assert claims.vouched == []


def test_unanswered_call_is_left_to_the_next_audit(claims: RecordingClaims, caplog: pytest.LogCaptureFixture) -> None:
    claims.down = True
    vouching.check(conductor(claims, a={}), "cell", "h1", refs("a"))
    assert "its next audit repeats it: no answer" in caplog.text
