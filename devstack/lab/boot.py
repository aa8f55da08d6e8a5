# SPDX-License-Identifier: Apache-2.0
"""lab.sh boot: time from the boot request until the server is ACTIVE, through all processes of gantt."""

import argparse
import itertools
import os
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import oslo_messaging as messaging
from oslo_config import cfg
from oslo_messaging.transport import RPCTransport
from tqdm import tqdm

from devstack import exercise
from devstack.lab.benchmark import host_count, option
from devstack.lab.private_cluster import BOOT_SECONDS, INSTANT_BOOTS, SCHEDULERS, ClusterBenchmark, booted
from devstack.lab.processor_time import descendant_cpu_seconds
from devstack.lab.rows import ResultRow
from devstack.lab.rpc.echo_service import TOPIC
from devstack.lab.timing import Times, interleave, record_span, record_times
from devstack.servers.process import poll
from rpcapi import objects
from rpcapi.admin import waiting
from rpcapi.admin.session import Session
from rpcapi.cli.command import CommandFailed
from rpcapi.messaging.bus import get_client, get_transport

ANSWER_BUDGET, ANSWER_BUDGET_CALLERS = 0.5, 64  # budget for requests of one server each, from this many callers on
RESOURCES = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}
BLOCKS = 4
TICK_S = 1 / os.sysconf("SC_CLK_TCK")  # resolution of processor time
LEAST_ECHOES = 200  # so many echo calls that their processor time is well above TICK_S
POLL_SECONDS = 0.002


class BootBenchmark(ClusterBenchmark):
    """Time boots through conductor, scheduler and agents, from request to ACTIVE, against an empty call.

    Boots single servers, alternating with echo calls, then batches, on a private cluster whose guests start without
    delay. ``processor_ms`` is the processor time per server of a batch, without the callers'. The time of an accepted
    request is measured while the schedulers are paused. No time budget; servers, claims and sums must agree.
    """

    ARGUMENTS = (
        option("--hosts", "Service hosts of 10 nodes each", host_count, 10),
        SCHEDULERS,
        option("--singles", "Servers booted one by one", default=40),
        option("--orders", "Batches of servers, all requested at once", default=4),
        option("--batch", "Servers per batch", default=100),
        option("--callers", "Threads that request batches, each the next one when its last was answered", default=1),
    )

    def measure_cluster(self, bus: str, args: argparse.Namespace) -> Iterator[ResultRow]:
        size = self.size(bus, args, args.hosts)
        with booted(size, INSTANT_BOOTS) as (private_cluster, session):
            private_cluster.start_echo(1)
            client_conf = private_cluster.client_conf
            single_uuids: list[str] = []
            # No service's user may call the echo service; this is the administrator's URL.
            transport = get_transport(cfg.ConfigOpts(), private_cluster.bus_url)
            try:
                times = _boot_singly(session, transport, block_size(args.singles), single_uuids)
                echo_s = _echo_processor_s(args, transport)
            finally:
                transport.cleanup()
            paused, batches = _new_batches(args), _new_batches(args)
            # While the schedulers are paused, a server causes no work after its request is answered.
            with private_cluster.paused_daemon("scheduler"):
                answer_s = _processor_s(lambda: _request_batches(args.callers, paused, client_conf)) / args.orders
            paused_uuids, uuids = (list(itertools.chain.from_iterable(lists)) for lists in (paused, batches))
            finished_servers(session, paused_uuids, BOOT_SECONDS)

            def boot_batches() -> None:
                _request_batches(args.callers, batches, client_conf)
                finished_servers(session, uuids, BOOT_SECONDS)

            processor_s = _processor_s(boot_batches)
            records = waiting.fetch_instances(session, [*single_uuids, *paused_uuids, *uuids])
            result = exercise.inspect_servers(session, records)
        booted_records = [record for record in records if record.uuid in set(uuids)]
        per_second = len(uuids) / record_span(booted_records)
        singles, echo = times["boot"], times["echo"]
        yield ResultRow(
            f"boot one by one, {bus}, beside an echo",
            singles.p50_us / echo.p50_us,
            figures={**singles.milliseconds(), **echo.milliseconds("echo_")},
        )
        yield ResultRow(
            f"boots a second, {bus}, beside echoes",
            per_second / echo.per_second,
            figures={
                "batch": args.batch,
                "instances_per_s": per_second,
                "processor_ms": 1e3 * processor_s / len(uuids),
                **record_times(booted_records).milliseconds(),
                "echo_calls_per_s": echo.per_second,
            },
        )
        yield ResultRow(
            f"an echo's processor time beside an accepted request of {args.batch}, {bus}, {args.callers} callers",
            echo_s / answer_s,
            ANSWER_BUDGET if args.batch == 1 and args.callers >= ANSWER_BUDGET_CALLERS else None,
            "at least",
            figures={"answer_processor_ms": 1e3 * answer_s, "echo_processor_ms": 1e3 * echo_s},
        )
        yield faults_row(f"boots amiss, {bus}", find_faults(result), servers=len(records), claims=len(result.claims))


def block_size(singles: int) -> int:
    return -(-singles // BLOCKS)


def _new_batches(args: argparse.Namespace) -> list[list[str]]:
    return [[str(uuid.uuid4()) for _ in range(args.batch)] for _ in range(args.orders)]


def _echo(transport: RPCTransport) -> Callable[[], object]:
    client = get_client(transport, messaging.Target(topic=TOPIC, version="1.0"), timeout=BOOT_SECONDS)
    return lambda: client.call({}, "echo")


def _boot_singly(session: Session, transport: RPCTransport, size: int, single_uuids: list[str]) -> dict[str, Times]:
    echo = _echo(transport)

    def boot(number: int) -> None:
        single_uuids.append(boot_single(session))

    return interleave({"boot": boot, "echo": lambda number: echo()}, blocks=BLOCKS, size=size)


def _processor_s(work: Callable[[], None]) -> float:
    """Return the processor seconds of all descendant processes while ``work`` runs, at least one tick."""
    before = descendant_cpu_seconds(os.getpid())
    work()
    return max(descendant_cpu_seconds(os.getpid()) - before, TICK_S)


def _echo_processor_s(args: argparse.Namespace, transport: RPCTransport) -> float:
    calls: int = max(args.orders, LEAST_ECHOES)
    return _processor_s(lambda: _run_threads(args.callers, [_echo(transport)] * calls)) / calls


def _run_threads(threads: int, tasks: Sequence[Callable[[], object]]) -> None:
    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(task) for task in tasks]:
            future.result()


def boot_single(session: Session) -> str:
    """Boot a server, wait until it is ACTIVE or in ERROR, and return its uuid. Raises CommandFailed on a timeout."""
    server_uuid = str(uuid.uuid4())
    request_boot(session, [server_uuid])

    def is_final() -> bool:
        return waiting.fetch_instances(session, [server_uuid])[0].status in exercise.FINAL_STATUSES

    if not poll(is_final, BOOT_SECONDS, POLL_SECONDS):
        raise CommandFailed(f"Server {server_uuid} was neither ACTIVE nor in ERROR after {BOOT_SECONDS:g} s")
    return server_uuid


def _request_batches(callers: int, batches: Sequence[list[str]], client_conf: Path) -> None:
    rest, lock = iter(batches), threading.Lock()

    def request_some() -> None:
        with closing(Session([str(client_conf)])) as session:
            while True:
                with lock:
                    batch = next(rest, None)
                if batch is None:
                    return
                request_boot(session, batch)

    _run_threads(callers, [request_some] * callers)


def request_boot(session: Session, uuids: list[str], **spec_fields: Any) -> None:
    session.new_request()
    spec = objects.RequestSpec.of(**{"resources": dict(RESOURCES), **spec_fields})
    session.call(session.conductor.build_instances, spec, uuids)


def finished_servers(session: Session, uuids: Sequence[str], seconds: float) -> list[Any]:
    waiting.wait_for_status(session, uuids, exercise.FINAL_STATUSES, seconds, tqdm(disable=True))
    return waiting.fetch_instances(session, uuids)


def find_faults(result: exercise.ExerciseResult) -> list[str]:
    """Return one sentence per server that does not run under its claim and per inconsistent sum."""
    unclaimed = [f"{instance} runs without a confirmed claim" for instance in result.unclaimed_uuids]
    sums = [] if result.verify is None or result.verify.clean else [*result.verify.problems, *result.verify.excess]
    return [*inactive_servers(result.instances), *unclaimed, *map(str, sums)]


def inactive_servers(instances: Sequence[objects.Instance]) -> list[str]:
    inactive = [instance for instance in instances if instance.status != "ACTIVE"]
    return [f"{instance.uuid} is {instance.status}: {instance.reason}" for instance in inactive]


def faults_row(name: str, faults: Sequence[str], **figures: float | str) -> ResultRow:
    return ResultRow(name, len(faults), 0, figures=figures | ({"first": faults[0]} if faults else {}))
