# SPDX-License-Identifier: Apache-2.0
"""A scheduler worker that is suspended delays the calls which it has taken, and no others: its siblings serve those.

The conductor sends few selections at once. Those that the suspended worker has taken hold all turns.
"""

import os
import signal
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import pytest
from oslo_config import cfg

from conductor.collected_selections import CALLS_AT_ONCE, CollectingSchedulerAPI
from devstack.cluster_size import ClusterSize, Mode
from devstack.lab.processor_time import descendants
from rpcapi import context, objects
from rpcapi.admin.session import Session
from rpcapi.context import RequestContext
from tests.support.clusters.clusters import running_cluster

SPEC = objects.RequestSpec.of(resources={"VCPU": 1})
ANSWER_SECONDS = 1.0
SUSPENDED_SECONDS = 10.0
BOOTS = 12


class TwoWorkers:
    """A suspended worker, which takes the first CALLS_AT_ONCE calls, and a worker that answers all later calls."""

    def __init__(self) -> None:
        self.calls = 0
        self.resumed = threading.Event()
        self.has_taken = threading.Event()

    def call(self, ctxt: RequestContext, version: str, method: str, /, **values: Any) -> Any:
        self.calls += 1
        if self.calls <= CALLS_AT_ONCE:
            if self.calls == CALLS_AT_ONCE:
                self.has_taken.set()
            self.resumed.wait()
        return objects.Selections.build(["host"], [[]], partition="p", attempt=1, deadline_ms=0, epoch=1, position=1)


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="Selections that get no answer hold all turns.")
def test_next_selection_does_not_wait_for_a_suspended_scheduler() -> None:
    workers = TwoWorkers()
    api = CollectingSchedulerAPI(cfg.ConfigOpts(), None, workers)

    def select() -> objects.Selections:
        return api.select_destinations(context.new("p", "u"), SPEC, [str(uuid.uuid4())])

    with ThreadPoolExecutor(CALLS_AT_ONCE + 1) as pool:
        waiting = [pool.submit(select) for _ in range(CALLS_AT_ONCE)]
        workers.has_taken.wait()
        following = pool.submit(select)
        is_answered = bool(wait([following], ANSWER_SECONDS).done)
        workers.resumed.set()
        assert [future.result().host(0) for future in waiting] == ["host"] * CALLS_AT_ONCE
    assert is_answered


@pytest.mark.long
@pytest.mark.xfail(strict=True, raises=AssertionError, reason="One suspended worker stops the boots of its siblings.")
def test_boots_succeed_beside_a_suspended_worker() -> None:
    instant = {"compute": {"simulator": {"boot_delay": 0, "boot_delay_spread": 0}}}
    size = ClusterSize(mode=Mode.STANDARD, computes=2, nodes_per_host=2, schedulers=2)
    with running_cluster(size, instant) as running, ThreadPoolExecutor(BOOTS) as pool:
        master = running.cluster.daemons["scheduler"].pid
        suspended, *others = (pid for pid, fields in descendants(os.getpid()).items() if int(fields[1]) == master)
        assert others
        os.kill(suspended, signal.SIGSTOP)
        try:
            boots = []
            for _ in range(BOOTS):
                boots.append(pool.submit(boot, str(running.cluster.client_conf)))
                time.sleep(SUSPENDED_SECONDS / BOOTS)
            in_time = [future.result() for future in boots if future.done()]
        finally:
            os.kill(suspended, signal.SIGCONT)
    # Half of the calls may wait in the suspended worker.
    assert in_time.count("ACTIVE") >= BOOTS // 3, f"{in_time.count('ACTIVE')} of {BOOTS} boots succeeded meanwhile"


def boot(conf: str) -> str:
    """Boot a server, and return its last status."""
    session = Session([conf])
    server, deadline = str(uuid.uuid4()), time.monotonic() + 60
    session.call(session.conductor.build_instances, SPEC, [server])
    while (status := str(session.call(session.conductor.get_instances, [server]).instances[0].status)) not in (
        "ACTIVE",
        "ERROR",
    ):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    session.close()
    return status
