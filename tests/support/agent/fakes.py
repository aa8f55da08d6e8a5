# SPDX-License-Identifier: Apache-2.0
"""Fakes of the services that an agent calls, with the semantics of the real answers."""

import copy
import threading
from typing import Any

import oslo_messaging as messaging

from rpcapi import errors, objects
from rpcapi.resources.claims import Answer
from rpcapi.resources.names import host_of

ClaimRef = tuple[str, int]
LIVE = (Answer.PREPARED, Answer.CONFIRMED)


class FakeClaims:
    """Fake of the claims service. ``lose`` lists verbs; their next answers are lost after execution."""

    target = messaging.Target(version="1.6")

    def __init__(self) -> None:
        self.states: dict[ClaimRef, str] = {}
        self.names: dict[ClaimRef, str] = {}
        self.epoch = 7
        self.again_s = 0.0
        self.lose: list[str] = []
        self.calls: list[tuple[str, list[ClaimRef]]] = []
        self.audits: list[objects.AuditReport] = []
        self.stamp: str | None = None
        self.lock = threading.Lock()

    def prepare(self, uuid: str, attempt: int, name: str) -> None:
        self.states[(uuid, attempt)] = Answer.PREPARED
        self.names[(uuid, attempt)] = name

    def _answer(self, ref: ClaimRef) -> str:
        return str(self.states.get(ref, Answer.UNKNOWN))

    def live(self) -> dict[ClaimRef, str]:
        return {ref: state for ref, state in self.states.items() if state in LIVE}

    def forget(self, ref: ClaimRef) -> None:
        del self.states[ref]

    @messaging.expose
    def confirm_claims(self, ctxt: Any, host: str, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        return self._apply_verb("confirm_claims", refs, lambda ref: self._confirm(ref, host))

    @messaging.expose
    def abort_claims(
        self, ctxt: Any, refs: objects.ClaimRefs, host: str | None = None, destinations: None = None
    ) -> objects.ClaimAnswers:
        return self._apply_verb("abort_claims", refs, self._abort)

    @messaging.expose
    def release_claims(self, ctxt: Any, host: str, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        return self._apply_verb("release_claims", refs, self._release)

    @messaging.expose
    def audit_host(self, ctxt: Any, report: objects.AuditReport) -> objects.AuditAnswer:
        with self.lock:
            self.audits.append(report)
            answers = []
            for ref, state, name in zip(self._refs(report), report.states, report.names, strict=True):
                if ref not in self.states and state == "confirmed":
                    self.states[ref] = Answer.CONFIRMED
                    self.names[ref] = name
                elif state == "confirmed" and self.states[ref] == Answer.PREPARED:
                    self.states[ref] = Answer.CONFIRMED
                answers.append(self._answer(ref))
        self._maybe_lose("audit_host")
        return objects.AuditAnswer.of(
            epoch=self.epoch,
            consumers=report.consumers,
            attempts=report.attempts,
            answers=answers,
            again_s=self.again_s,
            stamp=self.stamp,
        )

    def _confirm(self, ref: ClaimRef, host: str) -> str:
        if ref not in self.states:
            return Answer.UNKNOWN
        if host_of(self.names[ref]) != host:
            return Answer.FOREIGN
        if self.states[ref] == Answer.PREPARED:
            self.states[ref] = Answer.CONFIRMED
        return self._answer(ref)

    def _abort(self, ref: ClaimRef) -> str:
        if self.states.get(ref) in (None, Answer.PREPARED):
            self.states[ref] = Answer.ABORTED
        return self.states[ref]

    def _release(self, ref: ClaimRef) -> str:
        if self.states.get(ref) in (None, *LIVE):
            self.states[ref] = Answer.RELEASED
        return self._answer(ref)

    def _apply_verb(self, verb: str, refs: objects.ClaimRefs, change: Any) -> objects.ClaimAnswers:
        with self.lock:
            self.calls.append((verb, refs.pairs()))
            answers = [str(change(ref)) for ref in refs.pairs()]
        self._maybe_lose(verb)
        count = len(answers)
        return objects.ClaimAnswers.of(
            consumers=refs.consumers,
            attempts=refs.attempts,
            answers=answers,
            hosts=[None] * count,
            reasons=[""] * count,
            deadlines_ms=[None] * count,
        )

    def _maybe_lose(self, verb: str) -> None:
        if verb in self.lose:
            self.lose.remove(verb)
            raise messaging.MessagingTimeout(f"the answer of {verb} was lost")

    @staticmethod
    def _refs(report: objects.AuditReport) -> list[ClaimRef]:
        return list(zip(report.consumers, report.attempts, strict=True))


class FakeConductor:
    """Fake of the conductor: records reports. ``failures_left`` is the number of reports that stay unanswered."""

    target = messaging.Target(version="1.1")

    def __init__(self) -> None:
        self.outcomes: dict[ClaimRef, list[str]] = {}
        self.reasons: dict[ClaimRef, str] = {}
        self.reports: list[objects.BuildReport] = []
        self.failures_left = 0
        self.lock = threading.Lock()

    @messaging.expose
    def report_builds(self, ctxt: Any, report: objects.BuildReport) -> None:
        with self.lock:
            if self.failures_left:
                self.failures_left -= 1
                raise messaging.MessagingTimeout("the conductor is away")
            self.reports.append(report)
            for uuid, attempt, outcome, reason in zip(
                report.uuids, report.attempts, report.outcomes, report.reasons, strict=True
            ):
                self.outcomes.setdefault((uuid, attempt), []).append(outcome)
                self.reasons[(uuid, attempt)] = reason

    def last(self, ref: ClaimRef) -> str | None:
        return self.outcomes[ref][-1] if ref in self.outcomes else None

    @messaging.expose
    def object_backport_versions(self, ctxt: Any, objinst: Any, object_versions: Any) -> Any:
        raise AssertionError("nothing here is newer than the agent")


class FakeScheduler:
    """Fake of the scheduler: applies stats like the store, in order, a delta only on its base report."""

    target = messaging.Target(version="1.1")

    def __init__(self) -> None:
        self.views: dict[str, dict[str, Any]] = {}
        self.incarnations: dict[str, int] = {}
        self.stamp: str | None = None
        self.agents: dict[str, str] = {}
        self.last: dict[str, int] = {}  # sequence of the last report
        self.reports: list[tuple[str, objects.StatsReport]] = []
        self.epoch = 7
        self.audit = False
        self.required_keys: list[str] | None = None
        self.refused: list[dict[str, str]] = []
        self.lose: list[str] = []  # what is lost next: "call" or "answer"
        self.owners: dict[str, str] = {}  # host -> uuid of the state folder that has its name
        self.lock = threading.Lock()

    @messaging.expose
    def update_resource_stats(self, ctxt: Any, name: str, stats: objects.StatsReport) -> objects.StatsAnswer:
        if stats.register and ctxt.host_uuid != self.owners.setdefault(name, ctxt.host_uuid):
            raise errors.HostIdentityConflict(host=name, why="it has 1 claims")
        fault = self.lose.pop(0) if self.lose else ""
        if fault == "call":
            raise messaging.MessagingTimeout("the report was lost")
        with self.lock:
            self.reports.append((name, stats))
            superseded = not stats.register and stats.incarnation != self.incarnations.get(name)
            need_full = not superseded and not self._apply(name, stats)
        if fault == "answer":
            raise messaging.MessagingTimeout("the answer was lost")
        return objects.StatsAnswer.of(
            sequence=stats.sequence,
            need_full=need_full,
            epoch=self.epoch,
            audit=self.audit,
            required_keys=self.required_keys,
            incarnation=0 if superseded else self.incarnations[name],
            superseded=superseded,
            stamp=self.stamp,
            refused=self.refused,
        )

    def forget(self, name: str) -> None:
        """Forget the last report, so that the next delta needs another base."""
        self.last[name] = 0

    def supersede(self, name: str) -> None:
        """Issue an incarnation to another agent of the host."""
        self.incarnations[name] += 1
        self.agents[name] = "another"

    def _apply(self, name: str, stats: objects.StatsReport) -> bool:
        last = self.last.get(name, 0) if self.agents.get(name) == stats.agent else 0
        if stats.sequence <= last:
            return True
        if stats.register:
            self.incarnations[name] = self.incarnations.get(name, 0) + 1
            self.agents[name] = stats.agent
        if stats.full:
            self.views[name] = copy.deepcopy(stats.nodes)
        elif last != stats.base:
            return False
        else:
            for node, changes in stats.nodes.items():
                self.views[name][node].update(copy.deepcopy(changes))
        self.last[name] = stats.sequence
        return True
