# SPDX-License-Identifier: Apache-2.0
"""Boot servers through the conductor and look at what became of them: the cluster's proof by use."""

import collections
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import oslo_messaging as messaging

from devstack.workload import Request
from rpcapi import errors, objects
from rpcapi.model.claims import ClaimState
from rpcapi.model.names import host_of
from rpcapi.shell import waiting
from rpcapi.shell.session import Session

POLL = 0.2
CHUNK = 100
SETTLED = ("ACTIVE", "ERROR")


@dataclass
class Outcome:
    """What became of the servers: their records, their claims, and what verify says."""

    instances: list[objects.Instance]
    claims: list[dict[str, Any]] = field(default_factory=list)
    verify: objects.VerifyReport | None = None

    @property
    def by_status(self) -> collections.Counter[str]:
        """How many servers are in each status."""
        return collections.Counter(instance.status for instance in self.instances)

    @property
    def unclaimed(self) -> list[str]:
        """ACTIVE servers that do not run under a confirmed claim on their host."""
        held = {(claim["consumer"], claim["host"]) for claim in self.claims if claim["state"] == ClaimState.CONFIRMED}
        active = [instance for instance in self.instances if instance.status == "ACTIVE"]
        return [instance.uuid for instance in active if (instance.uuid, instance.host) not in held]

    @property
    def good(self) -> bool:
        """Whether every server is ACTIVE under a confirmed claim and every sum is right."""
        all_active = self.by_status["ACTIVE"] == len(self.instances)
        return all_active and not self.unclaimed and self.verify is not None and self.verify.clean


def open_nodes(session: Session) -> int:
    """Return how many nodes have reported and take claims: their host was audited in this epoch."""
    services = session.pages(session.scheduler.list_host_state, "states", "service")
    opened = {state.name for state in services if state.document.get("audited")}
    nodes = session.pages(session.scheduler.list_host_state, "states", "compute")
    return sum(host_of(state.name) in opened and _is_host(state.document) for state in nodes)


def wait_for_surroundings(session: Session, pools: int, networks: int, seconds: float) -> None:
    """Return when so many pools and networks can be shared, and who is on these is told; raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while True:
        told = {space: _count(session, space) for space in ("volume", "aggregate", "network")}
        shared = told["volume"] >= pools and told["aggregate"] >= pools + networks
        if shared and (told["network"] or not networks):
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"pools and networks are not told of after {seconds:g} s; see the publisher's log")
        time.sleep(POLL)


def _count(session: Session, namespace: str) -> int:
    return sum(1 for _ in session.pages(session.scheduler.list_host_state, "states", namespace))


def _is_host(told: Mapping[str, Any]) -> bool:
    """Tell whether servers run there: it is neither a pool or network, nor what hangs below a node."""
    return told.get("parent") is None and told.get("kind", "compute") == "compute"


def wait_for_nodes(session: Session, nodes: int, seconds: float, progress: Callable[[int], None]) -> None:
    """Return when so many nodes take claims; raises TimeoutError, saying how many do."""
    deadline = time.monotonic() + seconds
    known = 0
    while known < nodes:
        begun = time.monotonic()
        try:
            known = open_nodes(session)
        except (messaging.MessagingException, errors.Unavailable):
            known = 0  # the services still start: they are asked again until the time is over
        progress(known)
        if known < nodes and time.monotonic() > deadline:
            raise TimeoutError(f"only {known} of {nodes} nodes take claims after {seconds:g} s; see the daemons' logs")
        # Where there are thousands a look is long, and takes what they start with.
        time.sleep(max(POLL, 2 * (time.monotonic() - begun)))


def boot(session: Session, requests: Sequence[Request]) -> list[str]:
    """Ask for every server and return their uuids, in order; a request of many goes in chunks."""
    uuids: list[str] = []
    for request in requests:
        for start in range(0, request.count, CHUNK):
            chunk = [str(uuid.uuid4()) for _ in range(min(CHUNK, request.count - start))]
            session.new_request()
            session.ask(session.conductor.build_instances, request.spec(), chunk)
            uuids += chunk
    return uuids


def wait_for_servers(session: Session, uuids: Sequence[str], seconds: float, bar: Any) -> list[objects.Instance]:
    """Return the servers when all are ACTIVE or in ERROR, or as they are when the time is over."""
    known = waiting.wait_for(session, uuids, SETTLED, seconds, bar)
    return [known[uuid] for uuid in uuids if uuid in known]


def look(session: Session, instances: list[objects.Instance]) -> Outcome:
    """Return the servers with the store's view of their claims."""
    ours = {instance.uuid for instance in instances}
    claims = session.pages(session.claims.list_claims, "claims")
    kept = [claim for claim in claims if claim["consumer"] in ours]
    return Outcome(instances, kept, session.ask(session.claims.verify))
