# SPDX-License-Identifier: Apache-2.0
"""Mirror that repeats another Placement's exchanges on gantt, in order, and compares the answers."""

import collections
import threading
from enum import StrEnum

from oslo_log import log

from rpcapi.background import BackgroundLoop
from scheduler_svc import metrics
from scheduler_svc.placement.shadow.assigned_uuids import with_assigned_uuid
from scheduler_svc.placement.shadow.comparison import difference
from scheduler_svc.placement.shadow.connections import HttpServerAt
from scheduler_svc.placement.shadow.exchanges import NotAnswered, ProxiedResponse, SentRequest
from scheduler_svc.placement.shadow.refused_writes import refused_write
from scheduler_svc.shadow_report import ShadowReport

LOG = log.getLogger(__name__)

RETRY_SECONDS = 1.0
IDLE_SECONDS = 60.0  # longest wait without a wake-up
UNAVAILABLE = (502, 503, 504)
UNAUTHORIZED = 401
MAX_WAITING_BYTES = 256 << 20  # bytes of waiting bodies
SHARE_OF_READS = 0.5  # of both limits; the rest is for writes, without which gantt would diverge

Exchange = tuple[SentRequest, ProxiedResponse]  # request to the other Placement, and its answer


class MirrorOutcome(StrEnum):
    EQUAL = "equal"  # gantt gave the same answer
    DIFFERENT = "different"
    GANTT_REFUSED = "gantt_refused"  # gantt refused a write that the other Placement acknowledged
    REFUSED = "refused"  # the other Placement refused the write, so gantt does not get it
    UNAUTHENTICATED = "unauthenticated"  # gantt does not accept the token, which may have expired meanwhile
    UNCERTAIN = "uncertain"  # the other Placement did not answer, so whether it applied a write is unknown
    OVERLAPPED = "overlapped"  # a read during a write may show the state before or after it, so it is not compared
    DROPPED = "dropped"  # too many exchanges wait for a slow or absent gantt, or the mirror stopped
    FAILED = "failed"  # gantt did not answer a read, or the mirror failed


# Outcomes of writes after which gantt may lack data of the other Placement.
DIVERGING = (MirrorOutcome.UNCERTAIN, MirrorOutcome.DROPPED, MirrorOutcome.FAILED, MirrorOutcome.UNAUTHENTICATED)


class Mirror(BackgroundLoop):
    """Thread that sends each exchange to ``gantt`` after the other Placement has answered it.

    At most ``max_waiting`` exchanges wait, with bodies of at most ``max_bytes``; reads may use a share of both. Only
    writes are repeated until gantt takes them. A stop finishes the current exchange and drops and counts those that
    wait.
    """

    def __init__(
        self,
        gantt: HttpServerAt,
        max_waiting: int,
        report: ShadowReport,
        retry_s: float = RETRY_SECONDS,
        max_bytes: int = MAX_WAITING_BYTES,
    ) -> None:
        super().__init__("mirror")
        self._gantt = gantt
        self._report = report
        self._max_waiting = max_waiting
        self._max_bytes = max_bytes
        self._retry_s = retry_s
        self._waiting: collections.deque[Exchange] = collections.deque()
        self._waiting_bytes = 0
        self._changed = threading.Condition()
        self._writes_begun = self._writes_open = 0
        self._is_sending = False

    def begin(self, request: SentRequest) -> int | None:
        """Note that a request goes to the other Placement; return argument ``began`` of ``end``."""
        with self._changed:
            if request.is_write:
                self._writes_begun += 1
                self._writes_open += 1
                return None
            return None if self._writes_open else self._writes_begun

    def end(self, request: SentRequest, began: int | None, answer: ProxiedResponse | None) -> None:
        """Queue a finished exchange without blocking; ``answer`` is None if the other Placement did not answer."""
        with self._changed:
            self._writes_open -= request.is_write
            if self._is_comparable(request, began, answer) and answer is not None:
                exchange = _repeated(request, answer)
                if self._has_space(exchange) and not self.is_stopping:
                    self._waiting.append(exchange)
                    self._waiting_bytes += _size(exchange)
                    self.wake()
                    return
                outcome = MirrorOutcome.DROPPED
            elif answer is None:
                outcome = MirrorOutcome.UNCERTAIN
            else:
                outcome = MirrorOutcome.REFUSED if request.is_write else MirrorOutcome.OVERLAPPED
        self._count(request, outcome)

    def drain(self, seconds: float) -> bool:
        """Wait up to ``seconds`` until the queue is empty; return whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._is_sending, seconds)

    def _is_comparable(self, request: SentRequest, began: int | None, answer: ProxiedResponse | None) -> bool:
        """Return whether gantt gets the request: a successful write, or a read without concurrent writes."""
        if answer is None:
            return False
        return not answer.is_error if request.is_write else began == self._writes_begun

    def _has_space(self, exchange: Exchange) -> bool:
        share = 1 if exchange[0].is_write else SHARE_OF_READS
        return (
            len(self._waiting) < self._max_waiting * share
            and self._waiting_bytes + _size(exchange) <= self._max_bytes * share
        )

    def run_once(self) -> float:
        """Repeat the next exchange; return a pause if none waits."""
        with self._changed:
            if not self._waiting:
                return IDLE_SECONDS
            self._is_sending = True
            exchange = self._waiting.popleft()
            self._waiting_bytes -= _size(exchange)
        request, answer = exchange
        try:
            outcome = self._repeat(request, answer)
        except Exception:
            LOG.exception("Failed to repeat or compare %s %s", request.method, request.target)
            outcome = MirrorOutcome.FAILED
        self._count(request, outcome)
        with self._changed:
            self._is_sending = False
            self._changed.notify_all()
        return 0.0

    def finish(self) -> None:
        for request, _ in self._waiting:
            self._count(request, MirrorOutcome.DROPPED)

    def _repeat(self, request: SentRequest, expected: ProxiedResponse) -> MirrorOutcome:
        while True:
            actual = self._send(request)
            if actual is not None:
                break
            if not request.is_write:
                return MirrorOutcome.FAILED
            if self._stopping.wait(self._retry_s):
                return MirrorOutcome.DROPPED
        if actual.status == UNAUTHORIZED != expected.status:
            return MirrorOutcome.UNAUTHENTICATED
        text = difference(request, expected, actual)
        if text is None:
            return MirrorOutcome.EQUAL
        self._report.warn("%s %s: %s", request.method, request.target, text)
        if request.is_write and actual.is_error:
            self._report.count(metrics.SHADOW_REFUSED_WRITES, *refused_write(request, actual), title="gantt refused ")
            return MirrorOutcome.GANTT_REFUSED
        return MirrorOutcome.DIFFERENT

    def _send(self, request: SentRequest) -> ProxiedResponse | None:
        try:
            answer = self._gantt.send(request)
        except NotAnswered as error:
            self._report.warn("%s", error)
            return None
        return None if answer.status in UNAVAILABLE else answer

    def _count(self, request: SentRequest, outcome: MirrorOutcome) -> None:
        self._report.count(metrics.SHADOWED_REQUESTS, "write" if request.is_write else "read", outcome)
        if request.is_write and outcome in DIVERGING:
            self._report.warn(
                "%s %s is %s: compare both ends with gantt-placement-import --verify",
                request.method,
                request.target,
                outcome,
            )


def _repeated(request: SentRequest, answer: ProxiedResponse) -> Exchange:
    if request.is_write:
        return with_assigned_uuid(request, answer), ProxiedResponse(answer.status, (), b"")
    return request, answer


def _size(exchange: Exchange) -> int:
    return sum(len(part.body) for part in exchange)
