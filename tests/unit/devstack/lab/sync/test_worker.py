# SPDX-License-Identifier: Apache-2.0
"""Progress of a replica as a worker records it, and the digest of its table."""

from types import SimpleNamespace

import pytest

from devstack.lab import default_driver, hosts
from devstack.lab.sync import worker
from devstack.lab.sync.worker import digest
from scheduler_svc.core.table.table import HostTable

NODES = hosts.make_nodes(6)


class Replica:
    """Advances by one position at each look, up to ``last``."""

    def __init__(self, last):
        self.table, self.last, self.log_position = "table", last, SimpleNamespace(position=0)

    def reach(self, position, seconds):
        if position > self.last:
            return False
        self.log_position = SimpleNamespace(position=position)
        return True


class Pipe:
    """Receives ``targets`` one after the other, then is closed."""

    def __init__(self, *targets):
        self.targets, self.sent = list(targets), []

    def poll(self):
        return True

    def recv(self):
        if not self.targets:
            raise EOFError
        return self.targets.pop(0)

    def send(self, progress):
        self.sent.append(progress)


def test_each_advance_is_recorded_and_answered_when_the_target_is_reached(monkeypatch):
    monkeypatch.setattr(worker, "digest", lambda table: f"digest of {table}")
    pipe = Pipe(3, 5)
    with pytest.raises(EOFError):
        worker._follow(Replica(5), pipe)
    assert [[position for position, _ in progress.moments] for progress in pipe.sent] == [[1, 2, 3], [4, 5]]
    assert {progress.digest for progress in pipe.sent} == {"digest of table"}
    assert all(progress.resident_kb > 1000 for progress in pipe.sent)


def test_task_measures_the_start_from_when_it_is_made(monkeypatch):
    monkeypatch.setattr(worker, "time", SimpleNamespace(monotonic=lambda: 7.0))
    task = worker.worker_task("redis://x", measure_baseline=True)
    assert task.args == ("redis://x", 7.0, True)


def table(nodes, used=None, **changes):
    amounts = {name: dict((used or {}).get(name, {})) for name in nodes}
    snapshot = hosts.snapshot(nodes, amounts)
    for name, values in changes.items():
        getattr(snapshot, name).update(values)
    return HostTable.from_snapshot(snapshot, reads=default_driver.default().reads)


def test_order_of_the_rows_does_not_matter():
    assert digest(table(NODES)) == digest(table(dict(reversed(NODES.items()))))


@pytest.mark.parametrize(
    "changes",
    [
        {"used": {"compute0/node3": {"VCPU": 1}}},
        {"services": {"compute0": {"enabled": False}}},
        {"alive": {"compute0": False}},
        {"opened": {"compute0": 0}},
    ],
)
def test_change_of_contents_changes_the_digest(changes):
    assert digest(table(NODES, **changes)) != digest(table(NODES))


def test_missing_host_changes_the_digest():
    assert digest(table(dict(list(NODES.items())[:5]))) != digest(table(NODES))
