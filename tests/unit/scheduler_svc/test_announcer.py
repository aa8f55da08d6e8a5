# SPDX-License-Identifier: Apache-2.0
"""Telling the conductor that hosts wait for an audit."""

import queue
import threading

import oslo_messaging as messaging

from scheduler_svc.following.announcer import AuditAnnouncer
from scheduler_svc.following.replica import Replica
from scheduler_svc.store.memory import MemoryStore
from tests.unit.scheduler_svc import hosts
from tests.unit.scheduler_svc.hosts import node


class Conductor:
    def __init__(self, fault=None):
        self.heard = queue.Queue()
        self._fault = fault

    def audit_hosts(self, ctxt, partition, epoch):
        self.heard.put((partition, epoch, ctxt.deadline > 0))
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


def test_living_hosts_that_are_closed_are_announced():
    store = joined()
    epoch = store.begin_epoch()
    conductor = Conductor()
    AuditAnnouncer(conductor).request_audits(loaded(store))
    assert conductor.heard.get(timeout=10) == ("p", epoch, True)


def test_nothing_is_said_where_every_living_host_is_open():
    store = joined()
    store.update_stats("silent", incarnation=1, sequence=1, base=0, full=True, nodes={"silent": node()})
    store.state.alive["silent"] = False
    conductor = Conductor()
    AuditAnnouncer(conductor).request_audits(loaded(store))
    # It would be said in a thread: none may be on its way.
    for thread in threading.enumerate():
        if thread.name == "announcer":
            thread.join(10)
    assert conductor.heard.empty()


def test_a_conductor_that_is_away_is_no_fault(caplog):
    caplog.set_level("WARNING", logger="scheduler_svc.following.announcer")
    announcer = AuditAnnouncer(Conductor(messaging.MessagingTimeout("nobody there")))
    announcer._tell("p", 8)
    assert "agents learn it by themselves: nobody there" in caplog.text
