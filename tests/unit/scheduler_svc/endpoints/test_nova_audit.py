# SPDX-License-Identifier: Apache-2.0
"""The audit of claims for Nova, for which the bridge reads Nova's databases."""

import oslo_messaging as messaging
import pytest

from rpcapi import context, errors
from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import Candidate, ClaimBatch, Intent
from scheduler_svc.endpoints.nova_audit import NovaAuditEndpoint
from scheduler_svc.nova.bridge import signals
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.providers.changes import CreateProvider, SetInventories

NODE = "@api/n1"


@pytest.fixture
def store():
    """A store with three claims for Nova."""
    store = MemoryStore("default", namespaces=[signals.NAMESPACE])
    store.change_provider(CreateProvider(NODE, "n1"))
    store.change_provider(SetInventories(NODE, {"VCPU": Inventory(100)}))
    now = store.snapshot()
    intents = [Intent(name, 1, [Candidate(NODE)]) for name in ("c1", "c2", "c3")]
    batch = ClaimBatch("req-1", "p", "u", {"VCPU": 1}, intents, now.epoch, now.position, ttl_ms=1, final=True)
    assert store.prepare(batch).accepted
    return store


def audit(store, on_hosts=(), error=None, seconds=30, **arguments):
    """Call the endpoint; the bridge answers while it waits, unless ``on_hosts`` is None."""

    def answer(_seconds):
        if on_hosts is not None:
            signals.answer_question(store, find_on_hosts)

    def find_on_hosts(_instances):
        if error is not None:
            raise signals.Unanswerable(error)
        return on_hosts

    endpoint = NovaAuditEndpoint(store, 0, answer)
    return endpoint.audit_nova(context.new().with_timeout(seconds), **arguments)


def refusal(*args, **arguments):
    with pytest.raises(messaging.ExpectedException) as raised:
        audit(*args, **arguments)
    return raised.value.exc_info[1]


def test_claims_without_an_instance_are_listed_and_ended_only_on_request(store):
    for _ in range(2):  # the second answer is to the second question
        result = audit(store, {"c2"})
        assert [(leak["consumer"], leak["ended"]) for leak in result.leaks] == [("c1", False), ("c3", False)]
        assert result.marker is None
    assert [leak["ended"] for leak in audit(store, {"c2"}, fix=True).leaks] == [True, True]
    assert set(store.read_allocations(["c1", "c2", "c3"])) == {"c2"}
    assert audit(store, {"c2"}).leaks == []


def test_pages_are_continued_from_the_marker(store):
    first = audit(store, limit=2)
    second = audit(store, limit=2, marker=first.marker)
    assert [leak["consumer"] for leak in (*first.leaks, *second.leaks)] == ["c1", "c2", "c3"]
    assert second.marker is None


@pytest.mark.parametrize(
    ("on_hosts", "error", "text"), [(None, None, "is it running"), ((), "c1 is away", "c1 is away")]
)
def test_nothing_is_ended_where_the_bridge_cannot_answer(store, on_hosts, error, text):
    raised = refusal(store, on_hosts, error, seconds=0.05 if on_hosts is None else 30, fix=True)
    assert isinstance(raised, errors.Unavailable)
    assert text in str(raised)
    assert set(store.read_allocations(["c1", "c2", "c3"])) == {"c1", "c2", "c3"}


def test_answer_to_a_later_question_is_not_taken(store):
    def ask_again(_seconds):
        signals.ask(store, ["c9"])
        signals.answer_question(store, lambda _instances: ())

    with pytest.raises(messaging.ExpectedException) as raised:
        NovaAuditEndpoint(store, 0, ask_again).audit_nova(context.new().with_timeout(30), fix=True)
    assert "another request replaced this one" in str(raised.value.exc_info[1])
    assert set(store.read_allocations(["c1", "c2", "c3"])) == {"c1", "c2", "c3"}
