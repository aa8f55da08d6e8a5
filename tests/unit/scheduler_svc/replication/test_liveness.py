# SPDX-License-Identifier: Apache-2.0
"""The configured source of service liveness, without a real server."""

import pytest

from rpcapi.daemon.coordination import CoordinationGroup
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.composition import tasks
from scheduler_svc.composition.stores import liveness_source
from scheduler_svc.store.memory import MemoryStore

BACKEND = "redis://127.0.0.1:1"


@pytest.fixture
def created(monkeypatch):
    """Records the names of joined and of polled groups."""
    events = {"joined": [], "looked at": []}

    class Membership:
        def __init__(self, group, members):
            events["joined"].append((group.name, list(members)))

    class Coordinator:
        def __init__(self, group, member):
            events["looked at"].append(group.name)

        def close(self):
            """Do nothing."""

    monkeypatch.setattr(tasks, "Membership", Membership)
    monkeypatch.setattr(tasks, "Coordinator", Coordinator)
    return events


@pytest.fixture
def ready(conf):
    scheduler_conf.register_opts(conf)
    return conf


def group_of(conf):
    conf.set_override("driver", "tooz", group="service_group")
    conf.set_override("backend_url", BACKEND, group="service_group")


def liveness_of(conf, *, polls):
    """Return the liveness task of a worker that serves two partitions, None if it has none."""
    group = CoordinationGroup.from_conf(conf, conf.rpc.partition)
    stores = [MemoryStore(name) for name in ("default", "west")]
    return group and tasks.group_liveness(conf, group, stores, polls=polls)


def test_liveness_comes_from_heartbeats_by_default(ready, created):
    assert liveness_source(ready) == "beats"
    assert liveness_of(ready, polls=True) is None
    assert created == {"joined": [], "looked at": []}


@pytest.mark.parametrize("polls", [True, False])
def test_every_worker_joins_the_group_and_one_polls_it(ready, created, polls):
    group_of(ready)
    ready.set_override("host", "m1", group="scheduler")
    assert liveness_source(ready) == "group"
    liveness_of(ready, polls=polls)
    assert created["joined"] == [("gantt.default", ["gantt-scheduler@m1"])]
    assert created["looked at"] == (["gantt.default", "gantt.west"] if polls else [])
