# SPDX-License-Identifier: Apache-2.0
"""The measurement of lab.sh boot: single servers alternating with echoes, batches of servers, then verification.

What an accepted request costs is measured with batches of their own, while the schedulers are paused: nothing then
happens to a server between the conductor's answer and the next request.
"""

import itertools
import os
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import oslo_messaging as messaging
from oslo_config import cfg
from oslo_messaging.transport import RPCTransport

from devstack import exercise
from devstack.cluster_size import ClusterSize
from devstack.lab.processor_time import descendant_cpu_seconds
from devstack.lab.rpc import deployment
from devstack.lab.rpc.echo_service import TOPIC
from devstack.lab.timing import Times, interleave
from rpcapi import objects
from rpcapi.admin import waiting
from rpcapi.admin.session import Session
from rpcapi.cli.command import CommandFailed
from rpcapi.messaging.bus import get_client, get_transport

INSTANT_BOOTS = {"compute": {"simulator": {"boot_delay": 0, "boot_delay_spread": 0}}}
DAEMONS = ("scheduler", "conductor", "compute")
RESOURCES = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}
BLOCKS = 4  # of single boots, and as many of echo calls
READY_SECONDS = 90.0
BOOT_SECONDS = 120.0
TICK_S = 1 / os.sysconf("SC_CLK_TCK")  # in which the kernel counts processor time
LEAST_ECHOES = 200  # calls, because the clock of processor time has ticks of 10 ms
POLL_SECONDS = 0.002  # between two queries of a booting server


@dataclass(frozen=True, slots=True)
class BootPlan:
    """How many single servers, then how many batches of ``batch`` servers each, requested without waiting.

    ``callers`` threads request the batches, each as soon as its previous request was answered.
    """

    singles: int
    orders: int
    batch: int
    callers: int = 1

    @property
    def block_size(self) -> int:
        """Single servers per block; all blocks are equal, and the first is the warm-up."""
        return -(-self.singles // BLOCKS)

    @property
    def servers(self) -> int:
        """Number of servers booted in total; the batches are booted twice, first with paused schedulers."""
        return self.block_size * (BLOCKS + 1) + 2 * self.orders * self.batch

    def new_batches(self) -> list[list[str]]:
        """Return the uuids of new servers, by batch."""
        return [[str(uuid.uuid4()) for _ in range(self.batch)] for _ in range(self.orders)]


@dataclass(frozen=True, slots=True)
class BootMeasurements:
    """The measured times, and one sentence for each fault.

    ``batch_times`` are the boot times of the batches' servers by their own records, and ``per_second`` their rate.
    The others are processor times of all processes but this one, in seconds: ``processor_s`` for each server of a
    batch until it is ACTIVE, ``answer_s`` for each answered request of a batch, ``echo_s`` for each echo call by as
    many callers.
    """

    single_times: Times
    echo: Times
    batch_times: Times
    per_second: float
    processor_s: float
    answer_s: float
    echo_s: float
    servers: int
    claims: int
    faults: Sequence[str]


def measure(size: ClusterSize, plan: BootPlan, bar: Any) -> BootMeasurements:
    """Measure on a cluster of this size; ``bar`` advances by one per server. Raises ServerError, CommandFailed."""
    with (
        deployment.running(size, overrides=INSTANT_BOOTS) as private_cluster,
        closing(Session([str(private_cluster.cluster.client_conf)])) as session,
    ):
        private_cluster.start_echo(1)
        for name in DAEMONS:
            private_cluster.start_daemon(name)
        exercise.wait_for_nodes(session, size.nodes, READY_SECONDS, lambda ready_nodes: None)
        single_uuids: list[str] = []
        transport = get_transport(
            cfg.ConfigOpts(), private_cluster.bus_url
        )  # as the user that may call the echo service; no service's user may
        try:
            times = _boot_singly(session, transport, plan, single_uuids, bar)
            echo_s = _echo_processor_s(plan, transport)
        finally:
            transport.cleanup()
        client_conf = private_cluster.cluster.client_conf
        paused_batches, batches = plan.new_batches(), plan.new_batches()
        with private_cluster.paused_daemon("scheduler"):
            answer_s = _processor_s(lambda: _request_batches(plan, paused_batches, client_conf)) / plan.orders
        paused_uuids = list(itertools.chain.from_iterable(paused_batches))
        waiting.wait_for_status(session, paused_uuids, exercise.FINAL_STATUSES, BOOT_SECONDS, bar)
        batch_uuids = list(itertools.chain.from_iterable(batches))

        def boot_batches() -> None:
            _request_batches(plan, batches, client_conf)
            waiting.wait_for_status(session, batch_uuids, exercise.FINAL_STATUSES, BOOT_SECONDS, bar)

        processor_s = _processor_s(boot_batches)
        records = waiting.fetch_instances(session, [*single_uuids, *paused_uuids, *batch_uuids])
        result = exercise.inspect_servers(session, records)
    batch_records = [record for record in records if record.uuid in set(batch_uuids)]
    seconds = np.array([(record.updated_ms - record.created_ms) / 1e3 for record in batch_records])
    span = (
        max(record.updated_ms for record in batch_records) - min(record.created_ms for record in batch_records)
    ) / 1e3
    return BootMeasurements(
        times["boot"],
        times["echo"],
        Times(seconds),
        len(batch_records) / max(span, 1e-3),
        processor_s / len(batch_records),
        answer_s,
        echo_s,
        len(records),
        len(result.claims),
        list(find_faults(result)),
    )


def _boot_singly(
    session: Session, transport: RPCTransport, plan: BootPlan, single_uuids: list[str], bar: Any
) -> dict[str, Times]:
    """Boot single servers alternating with echo calls; append their uuids to ``single_uuids``."""
    echo = get_client(transport, messaging.Target(topic=TOPIC, version="1.0"), timeout=BOOT_SECONDS)

    def boot(number: int) -> None:
        single_uuids.append(boot_single(session))
        bar.update(1)

    def echoes(number: int) -> None:
        echo.call({}, "echo")

    return interleave({"boot": boot, "echo": echoes}, blocks=BLOCKS, size=plan.block_size)


def _processor_s(work: Callable[[], None]) -> float:
    """Return the processor time of all processes but this one while ``work`` runs, in seconds: a tick at least."""
    before = descendant_cpu_seconds(os.getpid())
    work()
    return max(descendant_cpu_seconds(os.getpid()) - before, TICK_S)


def _echo_processor_s(plan: BootPlan, transport: RPCTransport) -> float:
    """Return the processor time of an echo call while as many callers call as request batches, in seconds."""
    echo = get_client(transport, messaging.Target(topic=TOPIC, version="1.0"), timeout=BOOT_SECONDS)
    calls = max(plan.orders, LEAST_ECHOES)

    def call_all() -> None:
        with ThreadPoolExecutor(plan.callers) as callers:
            for future in [callers.submit(echo.call, {}, "echo") for _ in range(calls)]:
                future.result()

    return _processor_s(call_all) / calls


def boot_single(session: Session) -> str:
    """Boot one server, wait until it is ACTIVE or in ERROR, and return its uuid; raises CommandFailed."""
    server_uuid = str(uuid.uuid4())
    request_boot(session, [server_uuid])
    deadline = time.monotonic() + BOOT_SECONDS
    while waiting.fetch_instances(session, [server_uuid])[0].status not in exercise.FINAL_STATUSES:
        if time.monotonic() > deadline:
            raise CommandFailed(f"Server {server_uuid} was neither ACTIVE nor in ERROR after {BOOT_SECONDS:g} s")
        time.sleep(POLL_SECONDS)
    return server_uuid


def _request_batches(plan: BootPlan, batches: Sequence[list[str]], client_conf: Path) -> None:
    """Request the batches; each caller has a session of its own."""
    waiting_batches = iter(batches)
    lock = threading.Lock()

    def request_some() -> None:
        with closing(Session([str(client_conf)])) as session:
            while True:
                with lock:
                    batch = next(waiting_batches, None)
                if batch is None:
                    return
                request_boot(session, batch)

    with ThreadPoolExecutor(plan.callers) as callers:
        for future in [callers.submit(request_some) for _ in range(plan.callers)]:
            future.result()


def request_boot(session: Session, uuids: list[str]) -> None:
    """Request servers without waiting for them."""
    session.new_request()
    spec = objects.RequestSpec.of(resources=dict(RESOURCES))
    session.call(session.conductor.build_instances, spec, uuids)


def find_faults(result: exercise.ExerciseResult) -> list[str]:
    """Return one sentence for each server that does not run under its claim, and for each inconsistent sum."""
    failed = [
        f"{instance.uuid} is {instance.status}: {instance.reason}"
        for instance in result.instances
        if instance.status != "ACTIVE"
    ]
    unclaimed = [f"{instance} runs without a confirmed claim" for instance in result.unclaimed_uuids]
    sums = [] if result.verify is None or result.verify.clean else [*result.verify.problems, *result.verify.excess]
    return [*failed, *unclaimed, *map(str, sums)]
