# SPDX-License-Identifier: Apache-2.0
"""What agents report: each outcome is a fact, which is recorded before the agent is answered."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from oslo_log import log

from conductor import metrics, milestones
from conductor.peers import Peers
from conductor.saga.transitions import ended, finish, proceed
from conductor.store.interface import Store
from conductor.store.records import Instance, Status, Step
from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.model import names

LOG = log.getLogger(__name__)

ACTIVE, GONE = "active", "gone"
OUTCOMES = (ACTIVE, "refused", "failed", GONE)
ROUNDS = 20  # of reading, judging and writing, before the agent is asked to come again


class Outcome(NamedTuple):
    """What one host says of one attempt."""

    uuid: str
    attempt: int
    kind: str
    reason: str
    host: str


class Reports:
    """Needs no lease: a report is written beside whoever works on the request, and wakes it where it must act."""

    def __init__(self, store: Store, peers: Peers, wake: Callable[[], None], most: int) -> None:
        self._store = store
        self._peers = peers
        self._wake = wake
        self._most = most

    def take(self, ctxt: RequestContext, report: objects.BuildReport) -> None:
        """Record a report; one that is repeated, late or of an older attempt changes nothing.

        Raises InvalidRequest for what is no report, Conflict and the kinds of Unavailable when it has to be sent again.
        """
        outcomes = self._read(report)
        left = outcomes
        for _ in range(ROUNDS):
            known = self._store.get([each.uuid for each in left])
            self._stop_leaked(ctxt, report.host, [each for each in left if is_leaked(known.get(each.uuid), each)])
            left = self._record(known, left)
            if not left:
                break
        else:
            raise errors.Conflict(what=f"The report on {left[0].uuid}", why="its record changes all the time")
        for each in outcomes:
            metrics.REPORTS.labels(each.kind).inc()

    def _read(self, report: objects.BuildReport) -> list[Outcome]:
        names.canonical(report.host)
        if len(report.uuids) > self._most:
            raise errors.InvalidRequest(why=f"a report may tell of {self._most} instances, not {len(report.uuids)}")
        rows = zip(report.uuids, report.attempts, report.outcomes, report.reasons, strict=True)
        outcomes = [Outcome(*row, report.host) for row in rows]
        for each in outcomes:
            if each.kind not in OUTCOMES:
                raise errors.InvalidRequest(why=f"{each.kind[:40]!r} is no outcome; known: {', '.join(OUTCOMES)}")
        return outcomes

    def _stop_leaked(self, ctxt: RequestContext, host: str, leaked: Sequence[Outcome]) -> None:
        if not leaked:
            return
        LOG.warning("Host %s runs %d instances that nobody wants any more; it is told to stop them", host, len(leaked))
        refs = objects.ClaimRefs.of(
            consumers=[each.uuid for each in leaked], attempts=[each.attempt for each in leaked]
        )
        self._peers.compute.terminate_instances(ctxt, host, refs)

    def _record(self, known: dict[str, Instance], outcomes: Sequence[Outcome]) -> list[Outcome]:
        """Write what the outcomes change and return those whose record has changed meanwhile."""
        judged: dict[str, Instance] = {}
        later = []
        for each in outcomes:
            instance = known.get(each.uuid)
            if each.uuid in judged:
                later.append(each)  # a second outcome of one instance is judged on what the first made of it
            elif instance is not None and (changed := judge(instance, each)) is not None:
                judged[each.uuid] = changed
        quiet = [each for each in judged.values() if each.step == Step.DONE]
        loud = [each for each in judged.values() if each.step != Step.DONE]
        stale = set(self._store.note(quiet, wake=False).stale) if quiet else set()
        if loud:
            stale |= self._store.note(loud, wake=True).stale
            self._wake()
        milestones.tell(known.values(), judged.values(), stale)
        return later + [each for each in outcomes if each.uuid in stale and each not in later]


def is_leaked(instance: Instance | None, outcome: Outcome) -> bool:
    """Tell whether a guest runs that nobody wants: its instance is unknown, or to be deleted."""
    return outcome.kind == ACTIVE and (instance is None or instance.status in (Status.DELETING, Status.DELETED))


def judge(instance: Instance, outcome: Outcome) -> Instance | None:
    """Return the record as the outcome changes it, or None where it changes nothing."""
    if outcome.attempt > instance.attempt:
        # This store has forgotten an attempt; the claims know.
        lost = outcome.kind == ACTIVE and instance.status == Status.BUILDING and instance.step != Step.SETTLE
        return proceed(instance, Step.SETTLE) if lost else None
    here = instance.host is not None and names.host_of(instance.host) == outcome.host
    if outcome.attempt < instance.attempt or not here or instance.has_ended(outcome.attempt):
        return None
    if instance.status == Status.DELETING:
        over = instance.step == Step.TERMINATE and outcome.kind == GONE
        return finish(instance, Status.DELETED, reason=None) if over else None
    if outcome.kind == ACTIVE:
        wanted = instance.status in (Status.BUILDING, Status.ERROR) and instance.step != Step.TERMINATE
        return finish(instance, Status.ACTIVE, reason=outcome.reason or None) if wanted else None
    return _lost(instance, outcome)


def _lost(instance: Instance, outcome: Outcome) -> Instance | None:
    told = ended(instance, outcome.kind, outcome.reason)
    if instance.status == Status.BUILDING:
        return proceed(told, Step.ALTERNATE)
    if instance.status == Status.ACTIVE:
        reason = f"Its host {outcome.host} has ended it: {outcome.reason}"
        return finish(told, Status.ERROR, reason=reason)
    if instance.status == Status.ERROR:
        reason = f"{instance.reason}; then its host ended it: {outcome.reason}"
        return finish(told, Status.ERROR, reason=reason)
    return None
