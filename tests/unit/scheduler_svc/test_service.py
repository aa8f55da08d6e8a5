# SPDX-License-Identifier: Apache-2.0
"""Start, reload and stop of one worker."""

import threading

import pytest

from rpcapi import errors
from rpcapi.daemon.waiting import ShutdownRequested
from scheduler_svc.composition.stores import open_configured
from scheduler_svc.core.drivers.filter import FilterDriver
from scheduler_svc.service import SchedulerService
from scheduler_svc.store.memory import MemoryStore
from tests.support.scheduler.workers import FakeTransportWorker, configure


@pytest.fixture(scope="module")
def worker():
    created = FakeTransportWorker()
    created.service.start()
    yield created
    created.service.stop()
    created.service.wait()


def test_reload_applies_filters_and_weighers_unless_invalid(worker):
    current = worker.service._worker.scheduling.current
    before = current.policy
    worker.service.reset()
    assert isinstance(current.policy.driver, FilterDriver) and current.policy is not before
    previous = current.policy
    worker.conf.set_override("enabled_filters", ["Nonsense"], group="filter_scheduler")
    with pytest.raises(errors.BadConfiguration, match="Nonsense"):
        worker.service.reset()
    worker.conf.clear_override("enabled_filters", group="filter_scheduler")
    assert current.policy is previous


def test_reload_rejects_configuration_that_start_rejects(worker):
    previous = worker.service._worker.scheduling.current.policy
    worker.conf.set_override("weight_setting", ["cpu.percent=-1.0"], group="metrics")
    worker.conf.set_override("enabled_weighers", ["MetricsWeigher"], group="filter_scheduler")
    try:
        with pytest.raises(errors.BadConfiguration, match="MetricsFilter, which enforces it"):
            worker.service.reset()
        assert worker.service._worker.scheduling.current.policy is previous
        worker.conf.set_override("required", False, group="metrics")
        worker.service.reset()
        assert worker.service._worker.scheduling.current.policy is not previous
    finally:
        for group, option in (
            ("metrics", "weight_setting"),
            ("metrics", "required"),
            ("filter_scheduler", "enabled_weighers"),
        ):
            worker.conf.clear_override(option, group=group)


class Away(MemoryStore):
    """A store that is unavailable at first."""

    def __init__(self):
        super().__init__("default")
        self.there = threading.Event()
        self.calls = threading.Event()

    def snapshot(self, namespaces=()):
        self.calls.set()
        if not self.there.is_set():
            raise errors.StoreUnavailable(why="not started yet")
        return super().snapshot(namespaces)


def test_start_waits_for_unavailable_store(conf):
    store = Away()
    service = SchedulerService(configure(conf), 1, lambda partition: store)
    starting = threading.Thread(target=service.start)
    starting.start()
    assert store.calls.wait(10)
    store.there.set()
    starting.join(30)
    assert not starting.is_alive()
    assert service._worker.scheduling.partitions.own.replica.table.hosts == 0
    service.stop()
    service.wait()


def test_stop_ends_waiting_for_the_store(conf):
    store = Away()
    service = SchedulerService(configure(conf), 1, lambda partition: store)
    ended = []

    def start():
        try:
            service.start()
        except ShutdownRequested as stopped:
            ended.append(stopped)

    starting = threading.Thread(target=start)
    starting.start()
    assert store.calls.wait(10)
    service.stop()
    starting.join(30)
    service.wait()
    assert len(ended) == 1


def test_invalid_configuration_ends_the_start(conf):
    configure(conf).set_override("driver", "nonsense", group="scheduler")
    with pytest.raises(errors.BadConfiguration):
        SchedulerService(conf, 0, MemoryStore).start()


def test_configured_store_is_opened_by_url(conf):
    configure(conf).set_override("url", "memory://", group="store")
    assert open_configured(conf, "cell").partition == "cell"
