# SPDX-License-Identifier: Apache-2.0
"""Audit requests to the conductor."""

import queue
import threading

import oslo_messaging as messaging

from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimResult
from scheduler_svc.replication.audit_requests import AuditAnnouncer
from scheduler_svc.replication.replica import Replica
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.records import HostReport
from tests.unit.scheduler_svc.fakes import hosts
from tests.unit.scheduler_svc.fakes.hosts import node


class Conductor:
    def __init__(self, fault=None):
        self.calls = queue.Queue()
        self._fault = fault

    def audit_hosts(self, ctxt, partition, epoch):
        self.calls.put((partition, epoch, ctxt.deadline > 0))
        if self._fault is not None:
            raise self._fault

    def check_unverified(self, ctxt, partition, host, refs):
        self.calls.put((partition, host, refs.pairs()))
        if self._fault is not None:
            raise self._fault


def joined():
    store = MemoryStore("p")
    hosts.join(store, {"a": node(), "b": node()})
    return store


def loaded(store):
    replica = Replica(store)
    replica.load()
    return replica


def test_audit_is_requested_for_live_unaudited_hosts():
    store = joined()
    epoch = store.begin_epoch()
    conductor = Conductor()
    AuditAnnouncer(conductor).request_audits(loaded(store))
    assert conductor.calls.get(timeout=10) == ("p", epoch, True)


def test_no_audit_is_requested_if_all_live_hosts_are_audited():
    store = joined()
    store.update_stats(
        "silent", HostReport(register=True, agent="a", incarnation=0, sequence=1, nodes={"silent": node()})
    )
    store.state.alive["silent"] = False
    conductor = Conductor()
    AuditAnnouncer(conductor).request_audits(loaded(store))
    # The call would be made in a thread: wait for any that is running.
    for thread in threading.enumerate():
        if thread.name == "announcer":
            thread.join(10)
    assert conductor.calls.empty()


def test_conductor_checks_unverified_claims(caplog):
    claims = [ClaimResult("c1", 2, Answer.UNVERIFIED)]
    conductor = Conductor()
    AuditAnnouncer(conductor).check_unverified("p", "h1", claims)
    assert conductor.calls.get(timeout=10) == ("p", "h1", [("c1", 2)])
    AuditAnnouncer(Conductor(messaging.MessageDeliveryFailure("no bus"))).check_unverified("p", "h1", claims)
    assert "its next audit repeats it: no bus" in caplog.text


def test_unavailable_conductor_is_only_logged(caplog):
    caplog.set_level("WARNING", logger="scheduler_svc.replication.audit_requests")
    announcer = AuditAnnouncer(Conductor(messaging.MessagingTimeout("no answer")))
    announcer._call_conductor("p", 8)
    assert "agents learn of it from report answers: no answer" in caplog.text
