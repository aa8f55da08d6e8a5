# SPDX-License-Identifier: Apache-2.0
"""Telling the conductor that hosts wait for an audit."""

import queue
import threading

import oslo_messaging as messaging

from scheduler_svc.announcer import Announcer
from scheduler_svc.store.records import Entry
from tests.unit.scheduler_svc import hosts
from tests.unit.scheduler_svc.hosts import EPOCH, node


class Conductor:
    def __init__(self, fault=None):
        self.heard = queue.Queue()
        self._fault = fault

    def audit_hosts(self, ctxt, partition, epoch):
        self.heard.put((partition, epoch, ctxt.deadline > 0))
        if self._fault is not None:
            raise self._fault


def test_living_hosts_that_are_closed_are_announced():
    table = hosts.table({"a": node(), "b": node()})
    table.apply(Entry(101, "epoch", EPOCH + 1))
    conductor = Conductor()
    Announcer(conductor, "p").look(table)
    assert conductor.heard.get(timeout=10) == ("p", EPOCH + 1, True)


def test_nothing_is_said_where_every_living_host_is_open():
    table = hosts.table({"a": node(), "b": node()})
    table.apply(Entry(101, "opened", {"a": EPOCH - 1}))
    table.apply(Entry(102, "alive", {"a": False}))
    conductor = Conductor()
    Announcer(conductor, "p").look(table)
    # It would be said in a thread: none may be on its way.
    for thread in threading.enumerate():
        if thread.name == "announcer":
            thread.join(10)
    assert conductor.heard.empty()


def test_a_conductor_that_is_away_is_no_fault(caplog):
    caplog.set_level("WARNING", logger="scheduler_svc.announcer")
    table = hosts.table({"a": node()})
    table.apply(Entry(101, "epoch", EPOCH + 1))
    conductor = Conductor(messaging.MessagingTimeout("nobody there"))
    announcer = Announcer(conductor, "p")
    announcer._tell(EPOCH + 1)
    assert "agents learn it by themselves: nobody there" in caplog.text
