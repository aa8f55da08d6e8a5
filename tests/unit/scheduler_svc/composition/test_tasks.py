# SPDX-License-Identifier: Apache-2.0
"""Which background tasks a worker has."""

from rpcapi.background import Periodic
from rpcapi.daemon.coordination import Membership
from scheduler_svc.composition import policy, stores, tasks
from scheduler_svc.composition.scheduling import SchedulingParts
from scheduler_svc.notifications.publisher import NotificationPublisher
from scheduler_svc.replication import reaper
from scheduler_svc.store.memory import MemoryStore
from tests.support.scheduler.workers import configure


def build_tasks(conf, worker_index):
    """Return the partitions and tasks of a worker, which serves all its partitions."""
    scheduling_policy = policy.load(conf)
    partitions = stores.open_partitions(conf, MemoryStore, scheduling_policy.reads, None)
    scheduling = SchedulingParts(conf, partitions, scheduling_policy)
    return partitions, tasks.build(conf, MemoryStore, worker_index, scheduling)


def task_classes(conf, worker_index):
    return [type(task) for task in build_tasks(conf, worker_index)[1]]


def test_first_worker_also_checks_aggregates_and_publishes_notifications(conf):
    configure(conf).set_override("partitions", ["default", "west"], group="scheduler")
    conf.set_override("enabled", True, group="host_state_notifications")
    conf.set_override("transport_url", "fake://", group="host_state_notifications")
    # Two reapers, two measurements of stores, one of hosts and the heartbeat; the first also checks aggregates and
    # deletes unused server groups.
    assert task_classes(conf, 0) == [*[Periodic] * 8, *[NotificationPublisher] * 2]
    assert task_classes(conf, 1) == [Periodic] * 6


def test_partition_is_cleaned_up_twice_within_the_longest_step_of_its_time(conf):
    configure(conf).set_override("reap_interval", 3600.0, group="store")
    store = MemoryStore("default")
    reaping = tasks._reaping(conf, store, lambda: 0.0, follows_load=True)
    assert reaping._interval() == conf.store.max_clock_step / 2
    conf.set_override("reap_interval", 2.0, group="store")
    assert reaping._interval() == 2.0


def test_every_worker_joins_a_configured_service_group(conf):
    configure(conf).set_override("driver", "tooz", group="service_group")
    conf.set_override("backend_url", "redis://127.0.0.1:1", group="service_group")
    assert task_classes(conf, 0)[-2:] == [Membership, Periodic]
    assert task_classes(conf, 1)[-1] is Membership


def test_only_the_first_worker_of_a_daemon_repeats_cleanups_while_more_is_due(conf, monkeypatch):
    monkeypatch.setattr(reaper, "STORE_SHARE", 1.0)  # a pause does not depend on the time that the cleanup took
    configure(conf).set_override("reap_interval", 2.0, group="store")
    pauses = []
    for worker_index in (0, 1):
        partitions, (reaping, *_others) = build_tasks(conf, worker_index)
        store = partitions.served[0].store
        for number in range(2 * reaper.BATCH):
            store.pin(f"{worker_index}-{number}", "a", 1)
        expired = store.state.time_ms + 1
        store._clock = lambda now=expired: now
        reaping._act()
        pauses.append(reaping._interval())
    assert pauses == [reaper.MIN_PAUSE, 2.0]
