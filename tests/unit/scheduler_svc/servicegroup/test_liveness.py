# SPDX-License-Identifier: Apache-2.0
"""Who tells which services live, by the configuration; no server is asked anything here."""

import pytest

from scheduler_svc import conf as scheduler_conf
from scheduler_svc.servicegroup import liveness
from scheduler_svc.store.memory import MemoryStore

BACKEND = "redis://127.0.0.1:1"


@pytest.fixture
def made(monkeypatch):
    """What was made: the names of the groups that are joined, and of those that are looked at."""
    found = {"joined": [], "looked at": []}

    class Membership:
        def __init__(self, group, members):
            found["joined"].append((group.name, list(members)))

    class Coordinator:
        def __init__(self, group, member):
            found["looked at"].append(group.name)

    monkeypatch.setattr(liveness, "Membership", Membership)
    monkeypatch.setattr(liveness, "Coordinator", Coordinator)
    return found


@pytest.fixture
def ready(conf):
    scheduler_conf.register_opts(conf)
    return conf


def group_of(conf):
    conf.set_override("driver", "tooz", group="service_group")
    conf.set_override("backend_url", BACKEND, group="service_group")


def stores():
    return [MemoryStore(name) for name in ("default", "west")]


def test_by_default_signs_of_life_in_the_store_tell(ready, made):
    assert liveness.get_liveness_source(ready) == "beats"
    group = liveness.GroupLiveness(ready, stores(), "gantt-scheduler@m1", polls=True)
    group.start()
    group.stop()
    group.wait()
    assert made == {"joined": [], "looked at": []}


@pytest.mark.parametrize("looks", [True, False])
def test_a_group_is_joined_by_each_worker_and_looked_at_by_one(ready, made, polls):
    group_of(ready)
    assert liveness.get_liveness_source(ready) == "group"
    liveness.GroupLiveness(ready, stores(), "gantt-scheduler@m1", polls=polls)
    assert made["joined"] == [("gantt.default", ["gantt-scheduler@m1"])]
    assert made["looked at"] == (["gantt.default", "gantt.west"] if polls else [])
