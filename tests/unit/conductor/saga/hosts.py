# SPDX-License-Identifier: Apache-2.0
"""Agents as a conductor sees them: they get messages at most once, and report until they are answered."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from rpcapi import objects
from rpcapi.context import RequestContext
from rpcapi.model import names
from rpcapi.model.claims import Answer
from scheduler_svc.store.records import ClaimRef
from tests.unit.conductor.saga.ledger import Ledger

# What a host does with a build: "active", "refused", "failed", "lost" (no message ever arrives), "lost once" (the
# first does not), "mute" (confirms and spawns, but does not report while it is mute).
Manner = str


class Hosts:
    """All agents in one. ``manners`` says what is done with (uuid, attempt), or with a host; else "active"."""

    def __init__(self, ledger: Ledger, report: Callable[[objects.BuildReport], None]) -> None:
        self._store = ledger.store
        self._send = report
        self.manners: dict[Any, Manner] = {}
        self.queue: list[Callable[[], None]] = []
        self.unsaid: list[objects.BuildReport] = []  # what mute hosts would report
        self.guests: dict[tuple[str, int], str] = {}
        self.spawned: set[tuple[str, int]] = set()
        self.over: set[tuple[str, int]] = set()
        self.casts: list[tuple[str, str, tuple[str, ...]]] = []
        self.duplicate = False
        self.down: Exception | None = None  # raised by every cast while it is set: the bus is away
        self.tried = 0  # casts, those that failed included

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

    def _cast(self, kind: str, host: str, uuids: Sequence[str]) -> None:
        self.tried += 1
        if self.down is not None:
            raise self.down
        self.casts.append((kind, host, tuple(uuids)))

    # -- what the hosts do -------------------------------------------------------------------------------------------

    def deliver(self) -> bool:
        """Deliver what is under way; tells whether anything was."""
        queue, self.queue = self.queue, []
        for message in queue:
            message()
        return bool(queue)

    def speak(self) -> None:
        """Have mute hosts report at last."""
        unsaid, self.unsaid = self.unsaid, []
        self.queue += [functools.partial(self._send, report) for report in unsaid]
        self.manners = {key: manner for key, manner in self.manners.items() if manner != "mute"}

    def guests_of(self, uuid: str) -> list[tuple[str, int]]:
        """Return (node, attempt) of each guest."""
        return [(node, attempt) for (known, attempt), node in self.guests.items() if known == uuid]

    def _build(self, host: str, request: objects.BuildRequest) -> None:
        for uuid, attempt, name in zip(request.uuids, request.attempts, request.names, strict=True):
            manner = self.manners.get((uuid, attempt)) or self.manners.get(host, "active")
            if manner == "lost once":
                self.manners[uuid, attempt] = "active"
            elif manner != "lost":
                outcome, reason = self._outcome(host, ClaimRef(uuid, attempt), name, manner)
                self._tell(host, ClaimRef(uuid, attempt), outcome, reason, mute=manner == "mute")

    def _outcome(self, host: str, ref: ClaimRef, name: str, manner: Manner) -> tuple[str, str]:
        if ref in self.guests:
            return "active", ""
        if ref in self.over:
            return "refused", "this attempt is over"
        if manner == "refused":
            self._store.abort([ref], host)
            self.over.add(ref)
            return "refused", "no room by the host's own view"
        (answer,) = self._store.confirm(host, [ref])
        if answer.answer != Answer.CONFIRMED:
            self.over.add(ref)
            return "refused", f"its claim is {answer.answer}"
        if manner == "failed":
            self._store.release(host, [ref])
            self.over.add(ref)
            return "failed", "the spawn failed"
        assert self.guests_of(ref.consumer) == [], "a second copy"
        assert ref not in self.spawned, "built twice"
        self.spawned.add(ref)
        self.guests[ref] = name
        return "active", ""

    def _terminate(self, host: str, refs: objects.ClaimRefs) -> None:
        if self.manners.get(host) == "lost":
            return
        for uuid, attempt in refs.pairs():
            ref = ClaimRef(uuid, attempt)
            if ref in self.guests and names.host_of(self.guests[ref]) == host:
                del self.guests[ref]
            self.over.add(ref)
            self._store.release(host, [ref])
            self._tell(host, ref, "gone", "stopped, as asked", mute=False)

    def _tell(self, host: str, ref: ClaimRef, outcome: str, reason: str, *, mute: bool) -> None:
        report = objects.BuildReport.of(
            host=host, uuids=[ref.consumer], attempts=[ref.attempt], outcomes=[outcome], reasons=[reason]
        )
        if mute:
            self.unsaid.append(report)
        else:
            self.queue += [functools.partial(self._send, report)] * (2 if self.duplicate else 1)
