# SPDX-License-Identifier: Apache-2.0
"""One worker from its start to its end."""

import threading

import pytest

from rpcapi import errors
from rpcapi.daemon.waiting import ShutdownRequested
from scheduler_svc.drivers.filter import FilterDriver
from scheduler_svc.opening import open_configured
from scheduler_svc.service import SchedulerService
from scheduler_svc.store.memory import MemoryStore
from tests.unit.scheduler_svc.workers import FakeTransportWorker, configure


@pytest.fixture(scope="module")
def worker():
    made = FakeTransportWorker()
    made.service.start()
    yield made
    made.service.stop()
    made.service.wait()


def test_a_reload_takes_the_filters_and_weighers_anew_and_keeps_them_where_they_are_wrong(worker):
    selector = worker.service._selector
    before = selector.driver
    worker.service.reset()
    assert isinstance(selector.driver["filter"], FilterDriver) and selector.driver is not before
    kept = selector.driver
    worker.conf.set_override("enabled_filters", ["Nonsense"], group="filter_scheduler")
    worker.service.reset()
    worker.conf.clear_override("enabled_filters", group="filter_scheduler")
    assert selector.driver is kept


def test_a_reload_refuses_what_a_start_would(worker):
    kept = worker.service._selector.driver
    worker.conf.set_override("weight_setting", ["cpu.percent=-1.0"], group="metrics")
    worker.conf.set_override("enabled_weighers", ["MetricsWeigher"], group="filter_scheduler")
    try:
        worker.service.reset()  # metrics are required, and no filter sees to it
        assert worker.service._selector.driver is kept
        worker.conf.set_override("required", False, group="metrics")
        worker.service.reset()
        assert worker.service._selector.driver is not kept
    finally:
        for group, option in (
            ("metrics", "weight_setting"),
            ("metrics", "required"),
            ("filter_scheduler", "enabled_weighers"),
        ):
            worker.conf.clear_override(option, group=group)


class Away(MemoryStore):
    """A store that is not there at first."""

    def __init__(self):
        super().__init__("default")
        self.there = threading.Event()
        self.asked = threading.Event()

    def snapshot(self, namespaces=()):
        self.asked.set()
        if not self.there.is_set():
            raise errors.StoreUnavailable(why="not started yet")
        return super().snapshot(namespaces)


def test_a_store_that_is_away_at_start_is_waited_for(conf):
    store = Away()
    service = SchedulerService(configure(conf), 1, lambda conf, partition: store)
    starting = threading.Thread(target=service.start)
    starting.start()
    assert store.asked.wait(10)
    store.there.set()
    starting.join(30)
    assert not starting.is_alive()
    assert service._partition_set.partitions.own.replica.table.hosts == 0
    service.stop()
    service.wait()


def test_a_stop_ends_the_waiting(conf):
    store = Away()
    service = SchedulerService(configure(conf), 1, lambda conf, partition: store)
    ended = []

    def start():
        try:
            service.start()
        except ShutdownRequested as stopped:
            ended.append(stopped)

    starting = threading.Thread(target=start)
    starting.start()
    assert store.asked.wait(10)
    service.stop()
    starting.join(30)
    service.wait()
    assert len(ended) == 1


def test_a_configuration_that_cannot_work_ends_the_start(conf):
    configure(conf).set_override("driver", "nonsense", group="scheduler")
    with pytest.raises(errors.BadConfiguration):
        SchedulerService(conf, 0, lambda conf, partition: MemoryStore(partition)).start()


def test_the_configured_store_is_opened_by_its_url(conf):
    configure(conf).set_override("url", "memory://", group="store")
    assert open_configured(conf, "cell").partition == "cell"
