# SPDX-License-Identifier: Apache-2.0
"""The publishers of a worker: one for each store, ended and closed in order."""

import pytest

from scheduler_svc.notifications import publishers
from scheduler_svc.notifications.publishers import NotificationPublishers


class Recorder:
    """Records the names of calls to a store, a sender or a publisher."""

    def __init__(self, name, calls):
        self.name = name
        self._calls = calls

    def __getattr__(self, method):
        return lambda: self._calls.append(f"{method} {self.name}")


@pytest.fixture
def calls(monkeypatch):
    recorded = []

    def make_publisher(store, lease, send, kinds):
        assert (lease._store, kinds) == (store, ["used"])
        return Recorder(f"publisher of {store.name}", recorded)

    monkeypatch.setattr(publishers, "NotificationPublisher", make_publisher)
    return recorded


def build(calls, *names):
    senders = iter(Recorder(f"sender {number}", calls) for number in range(len(names)))
    stores = [Recorder(name, calls) for name in names]
    return NotificationPublishers(stores, lambda: next(senders), owner="w", lease=15.0, kinds=["used"])


def test_every_store_has_its_own_publisher(calls):
    task = build(calls, "east", "west")
    task.start()
    task.stop()
    assert calls == [
        "start publisher of east",
        "start publisher of west",
        "stop publisher of east",
        "stop publisher of west",
    ]


def test_senders_and_stores_are_closed_after_all_publishers_have_ended(calls):
    build(calls, "east", "west").wait()
    assert calls == [
        "wait publisher of east",
        "wait publisher of west",
        "close sender 0",
        "close sender 1",
        "close east",
        "close west",
    ]
