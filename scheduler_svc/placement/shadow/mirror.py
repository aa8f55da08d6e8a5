# SPDX-License-Identifier: Apache-2.0
"""Repeats on gantt what another Placement acknowledged, in that order, and compares the answers."""

import collections
import threading
from enum import StrEnum

from oslo_log import log

from rpcapi.background import BackgroundLoop
from scheduler_svc import metrics
from scheduler_svc.placement.shadow.assigned_uuids import with_assigned_uuid
from scheduler_svc.placement.shadow.comparison import difference
from scheduler_svc.placement.shadow.connections import HttpServerAt
from scheduler_svc.placement.shadow.exchanges import Answer, NotAnswered, SentRequest
from scheduler_svc.placement.shadow.refused_writes import refused_write
from scheduler_svc.shadow_report import ShadowReport

LOG = log.getLogger(__name__)

RETRY_SECONDS = 1.0
IDLE_SECONDS = 60.0  # after which it looks for exchanges though nothing woke it
UNAVAILABLE = (502, 503, 504)
UNAUTHORIZED = 401
MAX_WAITING_BYTES = 256 << 20  # of bodies
SHARE_OF_READS = 0.5  # of both limits: the rest is for writes, without which gantt would not have what Placement has

Exchange = tuple[SentRequest, Answer]  # with the other Placement


class Outcome(StrEnum):
    """What became of a request."""

    EQUAL = "equal"  # gantt answers the same
    DIFFERENT = "different"
    GANTT_REFUSED = "gantt_refused"  # a write that the other Placement acknowledged
    REFUSED = "refused"  # a write that the other Placement refused; gantt does not get it
    UNAUTHENTICATED = "unauthenticated"  # gantt does not accept the token (any more) that the other Placement accepted
    UNCERTAIN = "uncertain"  # a write that the other Placement did not answer: it may or may not be applied there
    OVERLAPPED = "overlapped"  # a read beside a write, whose answer may be of before or after it; not compared
    DROPPED = "dropped"  # gantt was too slow, or away, for too many requests
    FAILED = "failed"  # a read that gantt did not answer, or a request at which the proxy failed


# Writes after which gantt may lack what the other Placement has.
DIVERGING = (Outcome.UNCERTAIN, Outcome.DROPPED, Outcome.FAILED, Outcome.UNAUTHENTICATED)


class Mirror(BackgroundLoop):
    """Sends each exchange to ``gantt`` by one thread, after the other Placement has answered it.

    At most ``max_waiting`` exchanges wait, with bodies of at most ``max_bytes``; reads have a share of both. A write
    that gantt cannot take now is repeated until it can; reads are not. Once it is stopped, it ends after the exchange
    that is being sent; those that wait are dropped and counted.
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
        """Note that a request is being sent to the other Placement; return what ``end`` needs."""
        with self._changed:
            if request.is_write:
                self._writes_begun += 1
                self._writes_open += 1
                return None
            return None if self._writes_open else self._writes_begun

    def end(self, request: SentRequest, began: int | None, answer: Answer | None) -> None:
        """Take over an exchange; ``answer`` None: there was none. Waits for nothing."""
        with self._changed:
            self._writes_open -= request.is_write
            if self._is_comparable(request, began, answer) and answer is not None:
                exchange = _repeated(request, answer)
                if self._has_space(exchange) and not self.is_stopping:
                    self._waiting.append(exchange)
                    self._waiting_bytes += _size(exchange)
                    self.wake()
                    return
                outcome = Outcome.DROPPED
            elif answer is None:
                outcome = Outcome.UNCERTAIN
            else:
                outcome = Outcome.REFUSED if request.is_write else Outcome.OVERLAPPED
        self._count(request, outcome)

    def drain(self, seconds: float) -> bool:
        """Wait until nothing waits; return whether that was within ``seconds``."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._is_sending, seconds)

    def _is_comparable(self, request: SentRequest, began: int | None, answer: Answer | None) -> bool:
        """Return whether gantt is sent the request: a write that succeeded, or a read that no write overlapped."""
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
        """Repeat the next exchange; return a pause where none waits."""
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
            LOG.exception("%s %s could not be repeated or compared", request.method, request.target)
            outcome = Outcome.FAILED
        self._count(request, outcome)
        with self._changed:
            self._is_sending = False
            self._changed.notify_all()
        return 0.0

    def finish(self) -> None:
        """Count the exchanges that still wait."""
        for request, _ in self._waiting:
            self._count(request, Outcome.DROPPED)

    def _repeat(self, request: SentRequest, expected: Answer) -> Outcome:
        """Send a request to gantt and compare the answers."""
        while True:
            actual = self._send(request)
            if actual is not None:
                break
            if not request.is_write:
                return Outcome.FAILED
            if self._stopping.wait(self._retry_s):
                return Outcome.DROPPED
        if actual.status == UNAUTHORIZED != expected.status:
            return Outcome.UNAUTHENTICATED
        text = difference(request, expected, actual)
        if text is None:
            return Outcome.EQUAL
        self._report.warn("%s %s: %s", request.method, request.target, text)
        if request.is_write and actual.is_error:
            self._report.count(metrics.SHADOW_REFUSED_WRITES, *refused_write(request, actual), title="gantt refused ")
            return Outcome.GANTT_REFUSED
        return Outcome.DIFFERENT

    def _send(self, request: SentRequest) -> Answer | None:
        """Return gantt's answer, None if it cannot answer now."""
        try:
            answer = self._gantt.send(request)
        except NotAnswered as error:
            self._report.warn("%s", error)
            return None
        return None if answer.status in UNAVAILABLE else answer

    def _count(self, request: SentRequest, outcome: Outcome) -> None:
        self._report.count(metrics.SHADOWED_REQUESTS, "write" if request.is_write else "read", outcome)
        if request.is_write and outcome in DIVERGING:
            self._report.warn(
                "%s %s is %s: compare both ends with gantt-placement-import --verify",
                request.method,
                request.target,
                outcome,
            )


def _repeated(request: SentRequest, answer: Answer) -> Exchange:
    """Return what waits for gantt. Of a write's answer only the status is compared."""
    if request.is_write:
        return with_assigned_uuid(request, answer), Answer(answer.status, (), b"")
    return request, answer


def _size(exchange: Exchange) -> int:
    """Return the bytes of the bodies."""
    return sum(len(part.body) for part in exchange)
