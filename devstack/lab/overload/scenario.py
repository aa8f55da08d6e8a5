# SPDX-License-Identifier: Apache-2.0
"""The measurement of lab.sh overload: the peak, another project's quiet boots, then both under overload."""

import contextlib
import threading
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import oslo_messaging as messaging
from tqdm import tqdm

from devstack import exercise
from devstack.cluster_size import ClusterSize
from devstack.lab.boot.scenario import (
    BOOT_SECONDS,
    DAEMONS,
    INSTANT_BOOTS,
    READY_SECONDS,
    RESOURCES,
    boot_single,
    request_boot,
)
from devstack.lab.processor_time import descendants
from devstack.lab.rpc import deployment
from devstack.lab.rpc.deployment import PrivateCluster
from devstack.lab.soak.sizes import resident_kb
from devstack.lab.timing import Times
from rpcapi import errors, objects
from rpcapi.admin import waiting
from rpcapi.admin.session import Session
from rpcapi.cli.command import CommandFailed

SENDERS = 4  # threads that request the flood
FLOOD, OTHER = "flood", "other"  # projects
MEASURED_DAEMONS = ("conductor", "scheduler")
DRAIN_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class OverloadPlan:
    """``peak`` requests are sent at once, then ``factor`` times their rate for ``seconds``, each of ``batch`` servers.

    The other project boots ``singles`` servers one by one in the quiet cluster, and as many as it can under overload.
    At most ``backlog`` servers wait to be scheduled, and ``building`` ones are scheduled or built.
    """

    peak: int = 100
    batch: int = 20
    singles: int = 30
    factor: float = 10.0
    seconds: float = 60.0
    backlog: int = 5000
    building: int = 30


@dataclass(frozen=True, slots=True)
class OverloadMeasurements:
    """Rates in servers per second, times of the other project, and the flood's answers.

    ``middle_kb`` and ``end_kb`` are the resident memory of conductor and schedulers, in KiB.
    """

    peak: float
    goodput: float
    offered: float
    quiet: Times
    overloaded: Times
    answers: Counter[str]
    middle_kb: int
    end_kb: int
    faults: Sequence[str]


class Flood:
    """Requests servers at a constant rate from several threads, each with its own session, whatever the answers."""

    def __init__(self, config_file: str, batch: int, per_second: float) -> None:
        """``per_second`` is the rate of requests, of all threads together."""
        self._config_file = config_file
        self._batch = batch
        self._pause = SENDERS / per_second
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._send, daemon=True) for _ in range(SENDERS)]
        self.answers: Counter[str] = Counter()
        self.accepted_uuids: list[str] = []

    def start(self) -> None:
        """Begin to send."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop sending, and wait for the answers."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _send(self) -> None:
        spec = objects.RequestSpec.of(resources=dict(RESOURCES))
        with closing(Session([self._config_file], FLOOD)) as session:
            due = time.monotonic()
            while not self._stop.wait(max(0.0, due - time.monotonic())):
                due += self._pause
                uuids = [str(uuid.uuid4()) for _ in range(self._batch)]
                session.new_request()
                try:
                    session.conductor.build_instances(session.ctxt.with_timeout(BOOT_SECONDS), spec, uuids)
                    self.answers["accepted"] += 1
                    self.accepted_uuids += uuids
                except (errors.GanttError, messaging.MessagingTimeout) as error:
                    self.answers[type(error).__name__] += 1


def measure(size: ClusterSize, plan: OverloadPlan, bar: Any) -> OverloadMeasurements:
    """Measure on a cluster of this size; ``bar`` advances by one per phase. Raises ServerError, CommandFailed."""
    conductor = {"conductor": {"max_backlog": plan.backlog, "max_building": plan.building}}
    with (
        deployment.running(size, overrides={**INSTANT_BOOTS, "conductor": conductor}) as private_cluster,
        closing(Session([str(private_cluster.cluster.client_conf)], FLOOD)) as session,
        closing(Session([str(private_cluster.cluster.client_conf)], OTHER)) as other_session,
    ):
        for name in DAEMONS:
            private_cluster.start_daemon(name)
        exercise.wait_for_nodes(session, size.nodes, READY_SECONDS, lambda ready_nodes: None)
        bar.update(1)
        quiet = [_time_boot(other_session) for _ in range(plan.singles)]
        bar.update(1)
        peak_uuids = [str(uuid.uuid4()) for _ in range(plan.peak * plan.batch)]
        for start in range(0, len(peak_uuids), plan.batch):
            request_boot(session, peak_uuids[start : start + plan.batch])
        waiting.wait_for_status(session, peak_uuids, exercise.FINAL_STATUSES, DRAIN_SECONDS, tqdm(disable=True))
        peak = _rate(waiting.fetch_instances(session, peak_uuids))
        bar.update(1)
        flood = Flood(str(private_cluster.cluster.client_conf), plan.batch, plan.factor * peak / plan.batch)
        begin = time.time()
        flood.start()
        try:
            overloaded, memory_kb = [], []
            while time.time() < begin + plan.seconds:
                overloaded.append(_time_boot(other_session))
                memory_kb.append(_resident_kb(private_cluster))
            end = time.time()
        finally:
            flood.stop()
        bar.update(1)
        waiting.wait_for_status(
            session, flood.accepted_uuids, exercise.FINAL_STATUSES, DRAIN_SECONDS, tqdm(disable=True)
        )
        instances = waiting.fetch_instances(session, flood.accepted_uuids)
        bar.update(1)
    served = sum(1000 * begin <= instance.updated_ms < 1000 * end for instance in instances)
    faults = [
        f"{instance.uuid} is {instance.status}: {instance.reason}"
        for instance in instances
        if instance.status != "ACTIVE"
    ]
    return OverloadMeasurements(
        peak=peak,
        goodput=(served + len(overloaded)) / (end - begin),
        offered=sum(flood.answers.values()) * plan.batch / (end - begin),
        quiet=Times(np.array(quiet)),
        overloaded=Times(np.array(overloaded)),
        answers=flood.answers,
        middle_kb=memory_kb[len(memory_kb) // 2],
        end_kb=memory_kb[-1],
        faults=faults,
    )


def _time_boot(session: Session) -> float:
    """Return the seconds until a single server is ACTIVE or in ERROR; a longer time than the limit counts as it."""
    begin = time.monotonic()
    with contextlib.suppress(CommandFailed):
        boot_single(session)
    return time.monotonic() - begin


def _rate(instances: Sequence[Any]) -> float:
    begin = min(instance.created_ms for instance in instances)
    end = max(instance.updated_ms for instance in instances)
    return 1000 * len(instances) / max(1, end - begin)


def _resident_kb(private_cluster: PrivateCluster) -> int:
    pids = [private_cluster.cluster.daemons[name].pid for name in MEASURED_DAEMONS]
    return sum(resident_kb(process) for pid in pids if pid for process in [pid, *descendants(pid)])
