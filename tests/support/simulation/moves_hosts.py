# SPDX-License-Identifier: Apache-2.0
"""Agents and a claims service whose messages, suspensions and losses of power a test orders as it likes."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compute_agent.endpoints.compute import ComputeEndpoint
from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.resources.claims import Answer
from tests.support.agent.rig import KillSwitch as AgentKillSwitch
from tests.support.conductor.live_cluster import HOSTS, AgentHosts, StoreClaims
from tests.support.conductor.partitions import LedgerPartition
from tests.support.simulation.faults import Fault
from tests.support.simulation.suspension import AgentSwitch

if TYPE_CHECKING:
    from tests.support.simulation.moves_cluster import MovesCluster

LOST_REPORT, LOST_ANSWER = Fault.LOST_REPORT.value, Fault.LOST_ANSWER.value
FAILED = {"refused", "failed"}  # outcomes, or phases of a copy, of a report
MESSAGE_FAULTS = {
    "arrive": Fault.REORDERED_MESSAGE,
    "be late": Fault.LATE_MESSAGE,
    "be lost": Fault.LOST_MESSAGE,
}
ISOLATION_S = 120.0

Message = tuple[str, Callable[[ComputeEndpoint], Any]]


class MovesHosts(AgentHosts):
    """Agents whose messages may arrive late, twice or never; reports are calls, which are repeated at once.

    A host that is ``off`` was powered off: its guests do not run until its agent was started, and has removed those
    whose claims ended. A ``suspended`` host's messages wait until it resumes.
    """

    def __init__(self, cluster: "MovesCluster", folder: Path) -> None:
        self.off: set[str] = set()
        self.fenced: set[str] = set()  # hosts that have not audited since
        self.suspended: set[str] = set()
        self.silence: dict[str, float] = dict.fromkeys(HOSTS, 0.0)  # seconds for which no service answered the host
        self.outlasting: set[tuple[str, str, int]] = set()  # guests that ran on a machine when it was fenced
        self.switches: dict[str, AgentSwitch] = {}
        self._read: dict[str, tuple[set[tuple[str, int]], list[Any]]] = {}  # guests' files and guests, by host
        self.sent: list[Message] = []  # messages that may be delivered again
        self.report_fate = ""  # of the next report, see fail
        super().__init__(cluster, folder)
        self.cluster: MovesCluster = cluster

    def start(self, host: str, kill_switch: AgentKillSwitch | None = None) -> None:
        self.cluster.hit(Fault.AGENT_RESTART, host)
        rig = self.rigs[host]
        rig.isolation_timeout, rig.isolation_clock = ISOLATION_S, lambda: self.silence[host]
        self.switches[host] = AgentSwitch(kill_switch.at if kill_switch else 0)
        super().start(host, self.switches[host])
        if host not in self.dead:
            self._forget_outlasting(host)
            self.off.discard(host)
            self.fenced.discard(host)
            self.cluster.scheduler.down.discard(host)

    def kill(self, host: str) -> None:
        if host not in self.dead | self.off:
            self.cluster.hit(Fault.AGENT_CRASH, host)
        super().kill(host)
        self.cluster.scheduler.down.add(host)

    def _forget_outlasting(self, host: str) -> None:
        """Note that a host has audited since it was fenced."""
        self.outlasting = {entry for entry in self.outlasting if entry[0] != host}

    def deliver(self) -> bool:
        waiting = [message for message in self.queue if message[0] in self.suspended]
        self.queue = [message for message in self.queue if message[0] not in self.suspended]
        self.sent += self.queue
        has_delivered = super().deliver()
        self.queue = waiting + self.queue
        return has_delivered

    def message(self, number: int, fate: str) -> None:
        """Let a queued message arrive out of order, be late or lost, or a late or an earlier one arrive."""
        if fate == "arrive again" and self.sent:
            message = self.sent[number % len(self.sent)]
            self.cluster.hit(Fault.REPEATED_MESSAGE, message[0])
            self.deliver_one(message)
        elif fate != "arrive again" and self.queue:
            index = number % len(self.queue)
            message = self.queue.pop(index)
            if index or fate != "arrive":
                self.cluster.hit(MESSAGE_FAULTS[fate], message[0])
            if fate == "arrive":
                self.deliver_one(message)
            elif fate == "be late":
                self.sent.append(message)

    def deliver_one(self, message: Message) -> None:
        """Deliver a message before those that wait."""
        others, self.queue = self.queue, [message]
        self.deliver()
        self.queue += others

    def report_builds(self, ctxt: RequestContext, report: objects.BuildReport) -> None:
        fate, self.report_fate = self.report_fate, ""
        if fate:
            self.cluster.hit(Fault(fate), report.host)
        if FAILED & {*report.outcomes, *(copy["phase"] for copy in report.copies if copy)}:
            self.cluster.hit(Fault.FAILURE, report.host)
        if fate == LOST_REPORT:
            raise errors.Unavailable(what="The conductor", why="no answer")
        super().report_builds(ctxt, report)
        if fate == LOST_ANSWER:
            raise errors.Unavailable(what="The conductor", why="no answer")

    def audit(self, host: str) -> None:
        """Let the agent of a living host audit in the current epoch, as its next report has it do."""
        epoch = self.cluster.claims_at(host).epoch
        if host not in self.dead:
            self._run(host, lambda: self.rigs[host].host.audits.request(epoch, always=True))
            self._run(host, self.rigs[host].queue.run)
        if host not in self.dead:
            self._forget_outlasting(host)

    def remind(self, host: str) -> None:
        """Let the agent of a living host report its guests again, as it does every five minutes."""
        if host not in self.dead:
            self.rigs[host].host.remind()
            self._run(host, self.rigs[host].queue.run)

    def _call(self, method: str, ctxt: RequestContext, host: str, *args: Any) -> Any:
        # A conductor waits for the answer, and cannot do anything else meanwhile: no suspension here.
        switch, self.switches[host] = self.switches[host], AgentSwitch()
        try:
            return super()._call(method, ctxt, host, *args)
        finally:
            self.switches[host] = switch

    def guests(self) -> Iterator[tuple[str, Any]]:
        """Yield (host, guest) of each guest, by the guests' files; it runs unless its host is off."""
        for host in self.rigs:
            for guest in self._guests_on(host):
                yield host, guest

    def _guests_on(self, host: str) -> list[Any]:
        """Return the guests on a host; their files are read again if one was replaced, by another inode."""
        try:
            files = {(entry.name, entry.inode()) for entry in os.scandir(f"{self.rigs[host].folder}/guests")}
        except FileNotFoundError:  # its agent was never started
            files = set()
        former, guests = self._read.get(host, (None, []))
        if files != former:
            guests = list(self.rigs[host].guests().values())
            self._read[host] = files, guests
        return guests

    def running_hosts(self, consumers: set[str]) -> set[str]:
        """Return the hosts on which guests of these instances run."""
        return {host for host, guest in self.running() if guest.uuid in consumers}

    def running(self) -> Iterator[tuple[str, Any]]:  # type: ignore[override]
        """Yield (host, guest) of each guest that runs."""
        for host, guest in self.guests():
            if self._is_running(host, guest):
                yield host, guest

    def _is_running(self, host: str, guest: Any) -> bool:
        return host not in self.off and not guest.is_off and not guest.is_paused

    def attempt(self, host: str, ref: Any) -> Any:
        """Return the journalled attempt of a guest, None without a live one."""
        manager = self.rigs[host].guest_manager
        attempt = None if manager is None else manager.journal.get(ref)
        return attempt if attempt is not None and attempt.live else None

    def guests_of(self, uuid: str) -> list[tuple[str, int]]:
        """Return (node, attempt) of each guest of the instance."""
        return [(guest.name, guest.attempt) for _host, guest in self.guests() if guest.uuid == uuid]

    @property
    def stopped(self) -> set[tuple[str, int]]:
        """The identities of the guests that are off, or paused after their memory was copied."""
        return {tuple(guest.ref) for _host, guest in self.guests() if guest.is_off or guest.is_paused}


class AuditedClaims(StoreClaims):
    """The claims service, which has the conductor check the unverified claims of an audit."""

    def __init__(self, cluster: "MovesCluster", partition: LedgerPartition) -> None:
        super().__init__(partition.ledger, partition.name, cluster.partitions)
        self._cluster = cluster

    def audit_host(self, ctxt: RequestContext, report: objects.AuditReport) -> objects.AuditAnswer:
        answer = super().audit_host(ctxt, report)
        rows = zip(answer.consumers, answer.attempts, answer.answers, strict=True)
        unverified = [(uuid, attempt) for uuid, attempt, result in rows if result == Answer.UNVERIFIED]
        if unverified:
            refs = objects.ClaimRefs.of(
                consumers=[uuid for uuid, _ in unverified], attempts=[attempt for _, attempt in unverified]
            )
            self._cluster.unverified.append((report.host, refs))
        return answer
