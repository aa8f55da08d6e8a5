# SPDX-License-Identifier: Apache-2.0
"""Audit requests to the conductor."""

import queue
import threading

import oslo_messaging as messaging
import pytest

from rpcapi.objects import RecordedHosts
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimResult, LogEntry
from scheduler_svc.replication.audit_requests import CALLS, RECORDS_INTACT_MS, WORKERS_S, AuditAnnouncer
from scheduler_svc.replication.replica import Replica
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.records import HostReport
from scheduler_svc.store.verbs.contents import UNNAMED_HOSTS
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node


class Conductor:
    """Its records name the host ``recorded`` and are as old as its store's ``epoch``."""

    def __init__(self, fault=None, epoch=1):
        self.calls = queue.Queue()
        self._fault = fault
        self._epoch = epoch

    def list_hosts(self, ctxt, partition):
        return RecordedHosts.of(hosts=["recorded"], epoch=self._epoch)

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
    AuditAnnouncer(conductor, wait=lambda seconds: None).request_audits(loaded(store))
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
    wait_for_announcer()
    assert conductor.calls.empty()


def test_conductor_checks_unverified_claims(caplog):
    claims = [ClaimResult("c1", 2, Answer.UNVERIFIED)]
    conductor = Conductor()
    AuditAnnouncer(conductor).check_unverified("p", "h1", claims)
    assert conductor.calls.get(timeout=10) == ("p", "h1", [("c1", 2)])
    AuditAnnouncer(Conductor(messaging.MessageDeliveryFailure("no bus"))).check_unverified("p", "h1", claims)
    assert "its next audit asks again: no bus" in caplog.text


def test_unavailable_conductor_is_only_logged(caplog):
    caplog.set_level("WARNING", logger="scheduler_svc.replication.audit_requests")
    store = joined()
    epoch = store.begin_epoch()
    conductor, waits = Conductor(messaging.MessagingTimeout("no answer")), []
    AuditAnnouncer(conductor, wait=waits.append)._call_conductor(loaded(store), epoch)
    assert "agents learn of it from report answers: no answer" in caplog.text
    assert conductor.calls.qsize() == len(waits) == CALLS


def test_conductor_is_called_again_until_it_answers():
    store = joined()
    store.state.opened.clear()  # forgotten
    epoch = store.begin_epoch()
    conductor = Conductor(messaging.MessagingTimeout("the broker is away too"))

    def recover(seconds):
        conductor._fault = None

    AuditAnnouncer(conductor, wait=recover)._call_conductor(loaded(store), epoch)
    assert conductor.calls.qsize() == 2
    assert "recorded" in store.verify().awaited


def test_conductor_is_not_called_again_for_an_earlier_epoch():
    store = joined()
    epoch = store.begin_epoch()
    replica = loaded(store)
    conductor = Conductor(messaging.MessagingTimeout("no answer"))

    def begin_epoch(seconds):
        store.begin_epoch()
        replica.load()

    AuditAnnouncer(conductor, wait=begin_epoch)._call_conductor(replica, epoch)
    assert conductor.calls.qsize() == 1


@pytest.fixture(autouse=True)
def other_threads():
    """The threads that other tests have left: one of an announcer may wait for minutes to call again."""
    OTHER_THREADS[:] = threading.enumerate()


OTHER_THREADS = []


def wait_for_announcer():
    for thread in threading.enumerate():
        if thread.name == "announcer" and thread not in OTHER_THREADS:
            thread.join(10)


def test_hosts_of_the_table_and_of_the_records_are_named_in_a_new_epoch():
    store = joined()
    replica = loaded(store)
    store.state.opened.clear()  # forgotten
    store.state.alive.clear()
    store.begin_epoch()
    replica.load()
    assert store.verify().awaited == [UNNAMED_HOSTS, "a", "b"]
    waits = []
    AuditAnnouncer(Conductor(), wait=waits.append).request_audits(replica)
    wait_for_announcer()
    assert store.verify().awaited == ["a", "b", "recorded"]
    assert waits == [WORKERS_S], "workers with other tables had no time to name their hosts"


def test_workers_of_a_store_that_knows_all_hosts_are_not_waited_for():
    store = joined()
    replica = loaded(store)
    store.begin_epoch()
    replica.load()
    AuditAnnouncer(Conductor(), wait=lambda seconds: pytest.fail("waits")).request_audits(replica)
    wait_for_announcer()
    assert store.verify().awaited == ["a", "b", "recorded"]


def test_hosts_that_another_worker_names_meanwhile_are_awaited():
    store = joined()
    replica, late = loaded(store), loaded(store)
    late.unchecked_table.apply(LogEntry(store.state.position + 1, "opened", {"late": store.state.epoch}), 0)
    store.state.opened.clear()  # forgotten
    store.begin_epoch()
    replica.load()
    AuditAnnouncer(Conductor(), wait=lambda seconds: late.load()).request_audits(replica)
    wait_for_announcer()
    assert store.verify().awaited == ["a", "b", "late", "recorded"]


def test_hosts_of_the_deployments_file_are_named(tmp_path, caplog):
    path = tmp_path / "known-hosts"
    store = joined()
    store.begin_epoch()
    replica = loaded(store)
    conductor = Conductor(messaging.MessagingTimeout("no answer"))
    announcer = AuditAnnouncer(conductor, "p", str(path), wait=lambda seconds: None)
    announcer.request_audits(replica)
    wait_for_announcer()
    assert "cannot be read" in caplog.text
    assert store.verify().awaited == [UNNAMED_HOSTS, "a", "b"]
    path.write_text("listed\n")
    announcer.request_audits(replica)
    wait_for_announcer()
    assert store.verify().awaited == [UNNAMED_HOSTS, "a", "b", "listed"]
    path.write_text("elsewhere\n")
    waits = []
    AuditAnnouncer(Conductor(), "another", str(path), wait=waits.append).request_audits(replica)
    wait_for_announcer()
    assert store.verify().awaited == ["a", "b", "listed", "recorded"]
    assert waits == [WORKERS_S], "the workers that have tables had no time to name their hosts"


def test_records_that_may_be_forgotten_too_end_the_collection_of_a_worker_with_a_table_only():
    store = joined()
    survivor = loaded(store)
    epoch = store.begin_epoch()
    AuditAnnouncer(Conductor(epoch=epoch - RECORDS_INTACT_MS), wait=lambda seconds: None).request_audits(loaded(store))
    wait_for_announcer()
    assert store.verify().awaited == [UNNAMED_HOSTS, "a", "b", "recorded"]
    survivor.load()
    AuditAnnouncer(Conductor(epoch=epoch - RECORDS_INTACT_MS), wait=lambda seconds: None).request_audits(survivor)
    wait_for_announcer()
    assert store.verify().awaited == ["a", "b", "recorded"]
