# SPDX-License-Identifier: Apache-2.0
"""Exercise of a cluster: boots servers through the conductor and checks the result."""

import collections
import time
import urllib.request
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import oslo_messaging as messaging

from devstack.workload import WorkloadRequest
from rpcapi import errors, objects
from rpcapi.admin import waiting
from rpcapi.admin.session import Session
from rpcapi.resources.claims import MAX_INSTANCES, ClaimState
from rpcapi.resources.names import host_of
from rpcapi.resources.statuses import InstanceStatus

POLL = 0.2
# Timeouts of the calls that detect a started scheduler: a call sent too early is lost and waits for its timeout.
PROBE_SECONDS = 0.5
PROBE_SECONDS_MAX = 8.0
NO_ANSWER = (messaging.MessagingException, errors.Unavailable, errors.DeadlinePassed)
FINAL_STATUSES = (InstanceStatus.ACTIVE, InstanceStatus.ERROR)


@dataclass
class ExerciseResult:
    """Booted servers with their claims, and the verification of the store."""

    instances: list[objects.Instance]
    claims: list[dict[str, Any]] = field(default_factory=list)
    verify: objects.VerifyReport | None = None

    @property
    def by_status(self) -> collections.Counter[str]:
        return collections.Counter(instance.status for instance in self.instances)

    @property
    def unclaimed_uuids(self) -> list[str]:
        confirmed = {
            (claim["consumer"], claim["host"]) for claim in self.claims if claim["state"] == ClaimState.CONFIRMED
        }
        active = [instance for instance in self.instances if instance.status == InstanceStatus.ACTIVE]
        return [instance.uuid for instance in active if (instance.uuid, instance.host) not in confirmed]

    @property
    def ok(self) -> bool:
        """Whether every server is ACTIVE under a confirmed claim and the store's sums are consistent."""
        all_active = self.by_status[InstanceStatus.ACTIVE] == len(self.instances)
        return all_active and not self.unclaimed_uuids and self.verify is not None and self.verify.clean


def open_nodes(session: Session) -> int:
    """Return how many nodes accept claims: they have reported, and their host was audited in this epoch."""
    services = session.list_all(session.scheduler.list_host_state, "states", "service")
    opened = {state.name for state in services if state.document.get("audited")}
    nodes = session.list_all(session.scheduler.list_host_state, "states", "compute")
    return sum(host_of(state.name) in opened and _is_host(state.document) for state in nodes)


def wait_for_pools_and_networks(session: Session, pools: int, networks: int, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while True:
        counts = {space: _count(session, space) for space in ("volume", "aggregate", "network")}
        are_shared = counts["volume"] >= pools and counts["aggregate"] >= pools + networks
        if are_shared and (counts["network"] or not networks):
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"pools and networks are not published after {seconds:g} s; see the publisher's log")
        time.sleep(POLL)


def _count(session: Session, namespace: str) -> int:
    return sum(1 for _ in session.list_all(session.scheduler.list_host_state, "states", namespace))


def _is_host(document: Mapping[str, Any]) -> bool:
    return document.get("parent") is None and document.get("kind", "compute") == "compute"


def wait_for_nodes(session: Session, nodes: int, seconds: float, progress: Callable[[int], None]) -> None:
    deadline = time.monotonic() + seconds
    _wait_for_scheduler(session, deadline)
    open_count = 0
    while open_count < nodes:
        started_at = time.monotonic()
        pause = POLL
        try:
            open_count = open_nodes(session)
            # With thousands of nodes a query is slow, and slows down their start.
            pause = max(POLL, 2 * (time.monotonic() - started_at))
        except NO_ANSWER:
            open_count = 0
        progress(open_count)
        if open_count < nodes and time.monotonic() > deadline:
            raise TimeoutError(
                f"only {open_count} of {nodes} nodes accept claims after {seconds:g} s; see the daemons' logs"
            )
        time.sleep(pause)


def wait_for_placement(url: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(url, timeout=PROBE_SECONDS_MAX):  # noqa: S310 - an http address of this machine
                return
        except OSError as why:
            if time.monotonic() > deadline:
                raise TimeoutError(f"gantt-placement does not answer after {seconds:g} s ({why}); see its log") from why
        time.sleep(POLL)


def _wait_for_scheduler(session: Session, deadline: float) -> None:
    timeout = PROBE_SECONDS
    while time.monotonic() < deadline:
        try:
            session.scheduler.list_partitions(session.ctxt.with_timeout(timeout))
            return
        except NO_ANSWER:
            timeout = min(2 * timeout, PROBE_SECONDS_MAX)
            time.sleep(POLL)


def boot(session: Session, requests: Sequence[WorkloadRequest]) -> list[str]:
    """Request the servers, at most MAX_INSTANCES per call, and return their uuids in order."""
    uuids: list[str] = []
    for request in requests:
        for start in range(0, request.count, MAX_INSTANCES):
            part = [str(uuid.uuid4()) for _ in range(min(MAX_INSTANCES, request.count - start))]
            session.new_request()
            session.call(session.conductor.build_instances, request.spec(), part, first_sent=time.time())
            uuids += part
    return uuids


def wait_for_servers(session: Session, uuids: Sequence[str], seconds: float, bar: Any) -> list[objects.Instance]:
    instances = waiting.wait_for_status(session, uuids, FINAL_STATUSES, seconds, bar)
    return [instances[uuid] for uuid in uuids if uuid in instances]


def inspect_servers(session: Session, instances: list[objects.Instance]) -> ExerciseResult:
    own_uuids = {instance.uuid for instance in instances}
    claims = session.list_all(session.claims.list_claims, "claims")
    own_claims = [claim for claim in claims if claim["consumer"] in own_uuids]
    return ExerciseResult(instances, own_claims, session.call(session.claims.verify))
