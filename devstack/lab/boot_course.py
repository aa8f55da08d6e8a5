# SPDX-License-Identifier: Apache-2.0
"""The course of gantt-lab boot: a cluster, servers one by one beside echoes, large orders, and the accounts."""

import time
import uuid
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import oslo_messaging as messaging
from oslo_config import cfg
from oslo_messaging.transport import RPCTransport

from devstack import exercise
from devstack.cluster import Shape
from devstack.lab import rpc_site
from devstack.lab.rpc_echo_service import TOPIC
from devstack.lab.timing import Times, interleave
from rpcapi import objects
from rpcapi.bus import get_client, get_transport
from rpcapi.shell import waiting
from rpcapi.shell.faults import CommandFailed
from rpcapi.shell.session import Session

AT_ONCE = {"compute": {"simulator": {"boot_delay": 0, "boot_delay_spread": 0}}}
DAEMONS = ("scheduler", "conductor", "compute")
RESOURCES = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}
LOTS = 4  # of single boots, and as many of echoes between them
READY_SECONDS = 90.0
BOOT_SECONDS = 120.0
LOOK = 0.002  # seconds between two looks at a server that is awaited


@dataclass(frozen=True, slots=True)
class Plan:
    """So many servers one by one, then so many orders of ``batch`` each, given one after the other without waiting."""

    singles: int
    orders: int
    batch: int

    @property
    def lot(self) -> int:
        """Single servers of a lot; the lots are equal, and the first one warms up."""
        return -(-self.singles // LOTS)

    @property
    def servers(self) -> int:
        """How many servers are booted in all."""
        return self.lot * (LOTS + 1) + self.orders * self.batch


@dataclass(frozen=True, slots=True)
class Findings:
    """What was measured, and a sentence for each server or sum that is not as it should be.

    ``crowd`` is what each server of the large orders took by its own record, ``per_second`` how many of them ran.
    """

    singles: Times
    echo: Times
    crowd: Times
    per_second: float
    servers: int
    claims: int
    amiss: Sequence[str]


def measure(shape: Shape, plan: Plan, bar: Any) -> Findings:
    """Measure on a cluster of this shape; ``bar`` is moved on by each server. Raises ServerError, CommandFailed."""
    with (
        rpc_site.running(shape, overrides=AT_ONCE) as site,
        closing(Session([str(site.cluster.client_conf)])) as session,
    ):
        site.start_echo(1)
        for name in DAEMONS:
            site.start_daemon(name)
        exercise.wait_for_nodes(session, shape.nodes, READY_SECONDS, lambda known: None)
        booked: list[str] = []
        transport = get_transport(cfg.ConfigOpts(), site.bus_url)  # one that may call the echo, as no service may
        try:
            taken = _one_by_one(session, transport, plan, booked, bar)
        finally:
            transport.cleanup()
        crowd = [str(uuid.uuid4()) for _ in range(plan.orders * plan.batch)]
        for start in range(0, len(crowd), plan.batch):
            _order(session, crowd[start : start + plan.batch])
        waiting.wait_for(session, crowd, exercise.SETTLED, BOOT_SECONDS, bar)
        records = waiting.records(session, booked + crowd)
        outcome = exercise.look(session, records)
    many = [each for each in records if each.uuid in set(crowd)]
    seconds = np.array([(each.updated_ms - each.created_ms) / 1e3 for each in many])
    span = (max(each.updated_ms for each in many) - min(each.created_ms for each in many)) / 1e3
    return Findings(
        taken["boot"],
        taken["echo"],
        Times(seconds),
        len(many) / max(span, 1e-3),
        len(records),
        len(outcome.claims),
        list(amiss(outcome)),
    )


def _one_by_one(session: Session, transport: RPCTransport, plan: Plan, booked: list[str], bar: Any) -> dict[str, Times]:
    """Boot servers in turn with echoes; their uuids go into ``booked``."""
    echo = get_client(transport, messaging.Target(topic=TOPIC, version="1.0"), timeout=BOOT_SECONDS)

    def boot(number: int) -> None:
        one = str(uuid.uuid4())
        booked.append(one)
        _order(session, [one])
        deadline = time.monotonic() + BOOT_SECONDS
        while waiting.records(session, [one])[0].status not in exercise.SETTLED:
            if time.monotonic() > deadline:
                raise CommandFailed(f"Server {one} was neither ACTIVE nor in ERROR after {BOOT_SECONDS:g} s")
            time.sleep(LOOK)
        bar.update(1)

    def echoes(number: int) -> None:
        echo.call({}, "echo")

    return interleave({"boot": boot, "echo": echoes}, lots=LOTS, size=plan.lot)


def _order(session: Session, uuids: list[str]) -> None:
    session.new_request()
    spec = objects.RequestSpec.of(resources=dict(RESOURCES))
    session.ask(session.conductor.build_instances, spec, uuids)


def amiss(outcome: exercise.Outcome) -> list[str]:
    """Return a sentence for each server that does not run under its claim, and for each sum that does not hold."""
    failed = [f"{each.uuid} is {each.status}: {each.reason}" for each in outcome.instances if each.status != "ACTIVE"]
    unclaimed = [f"{each} runs without a confirmed claim" for each in outcome.unclaimed]
    sums = [] if outcome.verify is None or outcome.verify.clean else [*outcome.verify.problems, *outcome.verify.excess]
    return [*failed, *unclaimed, *map(str, sums)]
