# SPDX-License-Identifier: Apache-2.0
"""Fake of the agents that a conductor commands."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import oslo_messaging as messaging

from rpcapi import objects
from rpcapi.context import RequestContext
from rpcapi.resources import names
from rpcapi.resources.claims import Answer
from rpcapi.resources.statuses import GuestState
from scheduler_svc.core.records import ClaimRef
from tests.support.conductor.ledger import PARTITION, Ledger

# Behaviour of a host for a build: "active", "refused", "failed", "lost" (no message ever arrives), "lost once" (the
# first does not), "mute" (confirms and spawns, but does not report while it is mute).
Behaviour = str


class FakeHosts:
    """All agents: they get messages at most once, and repeat reports until answered.

    ``behaviours`` maps (uuid, attempt) or a host to its behaviour; the default is "active".
    """

    def __init__(self, ledger: Ledger, report: Callable[[objects.BuildReport], None]) -> None:
        self._store = ledger.store
        self._send = report
        self.behaviours: dict[Any, Behaviour] = {}
        self.queue: list[Callable[[], None]] = []
        self.pending_reports: list[objects.BuildReport] = []  # reports withheld by mute hosts
        self.guests: dict[tuple[str, int], str] = {}
        self.partitions: dict[str, str] = {}  # by host; those of the others are PARTITION
        self.lost_guests: dict[tuple[str, int], str] = {}  # the guests of hosts that are off
        self.stopped: set[tuple[str, int]] = set()
        self.transitions: dict[tuple[str, int], int] = {}  # the number of the last one
        self.operations: dict[tuple[str, int], list[tuple[str, int]]] = {}  # those executed: (action, number)
        self.images: dict[tuple[str, int], dict[str, Any]] = {}  # the last one of each guest that a rebuild named
        self.spawned_claims: set[tuple[str, int]] = set()
        self.ended_claims: set[tuple[str, int]] = set()
        self.casts: list[tuple[str, str, tuple[str, ...]]] = []
        self.duplicate = False
        self.down: Exception | None = None  # raised by every cast while set: the bus is unavailable
        self.cast_count = 0  # number of casts, including failed ones

    # -- ComputeAPI --------------------------------------------------------------------------------------------------

    def build_instances(self, ctxt: RequestContext, host: str, request: objects.BuildRequest) -> None:
        self._cast("build", host, request.uuids)
        assert {names.host_of(name) for name in request.names} == {host}
        for _ in range(2 if self.duplicate else 1):
            self.queue.append(lambda: self._build(host, request))

    def terminate_instances(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> None:
        self._cast("terminate", host, refs.consumers)
        for _ in range(2 if self.duplicate else 1):
            self.queue.append(lambda: self._terminate(host, refs))

    def change_guests(self, ctxt: RequestContext, host: str, transitions: objects.GuestTransitions) -> None:
        self._cast("change", host, transitions.uuids)
        transitions.check()
        for _ in range(2 if self.duplicate else 1):
            self.queue.append(lambda: self._change(host, transitions))

    def operate_guests(self, ctxt: RequestContext, host: str, operations: objects.GuestOperations) -> None:
        self._cast("operate", host, operations.uuids)
        operations.check()
        for _ in range(2 if self.duplicate else 1):
            self.queue.append(lambda: self._operate(host, operations))

    def list_guests(self, ctxt: RequestContext, host: str, marker: str | None, limit: int) -> objects.GuestPage:
        refs = sorted(ref for ref, node in self.guests.items() if names.host_of(node) == host)
        return objects.GuestPage.of(
            uuids=[uuid for uuid, _ in refs],
            attempts=[attempt for _, attempt in refs],
            names=[self.guests[ref] for ref in refs],
            states=[(GuestState.STOPPED if ref in self.stopped else GuestState.RUNNING).value for ref in refs],
        )

    def list_owners(self, ctxt: RequestContext, host: str, uuids: list[str]) -> objects.GuestOwners:
        if self.behaviours.get(host) == "lost":
            raise messaging.MessagingTimeout("no answer")
        refs = [ref for ref, node in self.guests.items() if ref[0] in uuids and names.host_of(node) == host]
        return objects.GuestOwners.of(
            uuids=[uuid for uuid, _ in refs],
            attempts=[attempt for _, attempt in refs],
            names=[self.guests[ref] for ref in refs],
            owners=[{"flavor": "m1.tiny", "group_id": "g", "group_policy": "anti-affinity"} for _ in refs],
            states=[(GuestState.STOPPED if ref in self.stopped else GuestState.RUNNING).value for ref in refs],
        )

    def _cast(self, kind: str, host: str, uuids: Sequence[str]) -> None:
        self.cast_count += 1
        if self.down is not None:
            raise self.down
        self.casts.append((kind, host, tuple(uuids)))

    # -- behaviour of hosts ------------------------------------------------------------------------------------------

    def deliver(self) -> bool:
        """Deliver all queued messages; return whether there were any."""
        queue, self.queue = self.queue, []
        for message in queue:
            message()
        return bool(queue)

    def send_pending_reports(self) -> None:
        """Send the withheld reports of mute hosts."""
        pending_reports, self.pending_reports = self.pending_reports, []
        self.queue += [functools.partial(self._send, report) for report in pending_reports]
        self.behaviours = {key: behaviour for key, behaviour in self.behaviours.items() if behaviour != "mute"}

    def guests_of(self, uuid: str) -> list[tuple[str, int]]:
        """Return (node, attempt) of each guest of the instance."""
        return [(node, attempt) for (guest_uuid, attempt), node in self.guests.items() if guest_uuid == uuid]

    def running_guests_of(self, uuid: str) -> list[tuple[str, int]]:
        """Return the identities under which the instance runs."""
        return [ref for ref in self.guests if ref[0] == uuid and ref not in self.stopped]

    def _build(self, host: str, request: objects.BuildRequest) -> None:
        for uuid, attempt, name in zip(request.uuids, request.attempts, request.names, strict=True):
            behaviour = self.behaviours.get((uuid, attempt)) or self.behaviours.get(host, "active")
            if behaviour == "lost once":
                self.behaviours[uuid, attempt] = "active"
            elif behaviour != "lost":
                ref = ClaimRef(uuid, attempt)
                is_new = ref not in self.guests
                outcome, reason = self._outcome(host, ref, name, behaviour)
                if outcome == "active" and is_new and uuid in request.powered_off:
                    self.stopped.add(ref)
                    outcome = "stopped"
                self._send_report(host, ClaimRef(uuid, attempt), outcome, reason, mute=behaviour == "mute")

    def _outcome(self, host: str, ref: ClaimRef, name: str, behaviour: Behaviour) -> tuple[str, str]:
        if ref in self.guests:
            return self._state(ref), ""
        if ref in self.ended_claims:
            return "refused", "this attempt has ended"
        if behaviour == "refused":
            self._store.abort([ref], host)
            self.ended_claims.add(ref)
            return "refused", "no room by the host's own view"
        (answer,) = self._store.confirm(host, [ref])
        if answer.answer != Answer.CONFIRMED:
            self.ended_claims.add(ref)
            return "refused", f"its claim is {answer.answer}"
        if behaviour == "failed":
            self._store.release(host, [ref])
            self.ended_claims.add(ref)
            return "failed", "the spawn failed"
        assert self.running_guests_of(ref.consumer) == [], "another guest of the instance runs"
        assert ref not in self.spawned_claims, "the attempt was built twice"
        self.spawned_claims.add(ref)
        self.guests[ref] = name
        return "active", ""

    def _terminate(self, host: str, refs: objects.ClaimRefs) -> None:
        if self.behaviours.get(host) == "lost":
            return
        for uuid, attempt in refs.pairs():
            self._end(host, ClaimRef(uuid, attempt), "stopped, as asked")

    def _change(self, host: str, transitions: objects.GuestTransitions) -> None:
        assert transitions.partition == self.partitions.get(host, PARTITION)
        rows = zip(transitions.uuids, transitions.attempts, transitions.actions, transitions.numbers, strict=True)
        for uuid, attempt, action, number in rows:
            ref = ClaimRef(uuid, attempt)
            behaviour = self.behaviours.get(host)
            if behaviour == "lost":
                continue
            if number < self.transitions.get(ref, 0):
                self._send_report(host, ref, self._state(ref), "", mute=behaviour == "mute")
                continue
            self.transitions[ref] = number
            if ref not in self.guests or names.host_of(self.guests[ref]) != host:
                self._end(host, ref, "its guest is not on this host")
            elif action == "end":
                self._end(host, ref, "stopped, as asked")
            else:
                if action == "run":
                    assert self.running_guests_of(uuid) in ([], [ref]), "a second guest of the instance"
                (self.stopped.add if action == "stop" else self.stopped.discard)(ref)
                self._send_report(host, ref, self._state(ref), "", mute=behaviour == "mute")

    def _state(self, ref: ClaimRef) -> str:
        if ref not in self.guests:
            return "gone"
        return "stopped" if ref in self.stopped else "active"

    def _end(self, host: str, ref: ClaimRef, reason: str) -> None:
        """Remove the guest, if there is one, release its claim, and report that."""
        if ref in self.guests and names.host_of(self.guests[ref]) == host:
            del self.guests[ref]
        self.stopped.discard(ref)
        self.ended_claims.add(ref)
        self._store.release(host, [ref])
        self._send_report(host, ref, "gone", reason, mute=False)

    def _operate(self, host: str, operations: objects.GuestOperations) -> None:
        images = operations.images or [None] * len(operations.uuids)
        rows = zip(operations.uuids, operations.attempts, operations.actions, operations.numbers, images, strict=True)
        behaviour = self.behaviours.get(host)
        for uuid, attempt, action, number, image in rows:
            ref = ClaimRef(uuid, attempt)
            if behaviour == "lost":
                continue
            if ref not in self.guests:
                self._end(host, ref, "its guest is not on this host")
                continue
            if number > self._last_operation(ref):
                self.operations.setdefault(ref, []).append((action, number))
                if image is not None:
                    self.images[ref] = image
                if action == "reboot":
                    self.stopped.discard(ref)
            self._send_report(host, ref, self._state(ref), "", mute=behaviour == "mute")

    def _last_operation(self, ref: tuple[str, int]) -> int:
        return self.operations[ref][-1][1] if ref in self.operations else 0

    def make_report(self, host: str, ref: tuple[str, int], outcome: str, reason: str = "") -> objects.BuildReport:
        """Return the report of one outcome."""
        uuid, attempt = ref
        return objects.BuildReport.of(
            host=host,
            uuids=[uuid],
            attempts=[attempt],
            outcomes=[outcome],
            reasons=[reason],
            operations=[self._last_operation(ref)],
            transitions=[self.transitions.get(ref, 0)],
        )

    def _send_report(self, host: str, ref: ClaimRef, outcome: str, reason: str, *, mute: bool) -> None:
        report = self.make_report(host, ref, outcome, reason)
        if mute:
            self.pending_reports.append(report)
        else:
            self.queue += [functools.partial(self._send, report)] * (2 if self.duplicate else 1)
