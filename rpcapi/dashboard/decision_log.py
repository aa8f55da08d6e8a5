# SPDX-License-Identifier: Apache-2.0
"""Summaries of recorded decisions of all partitions, and refusals over time."""

import collections
import heapq
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rpcapi import errors, objects
from rpcapi.admin.session import NO_ANSWER, Session

PAGE = 100
MOST_PAGES = 50
MOST = 10_000  # newest decisions per partition
SELECTED, REFUSED = "selected", "refused"
LARGEST_REASONS = 6  # refusal reasons with a colour of their own
OTHERS = "other reasons"


class DecisionSummary(NamedTuple):
    """Summary of a decision; ``reasons`` counts the hosts that each filter rejected."""

    request_id: str
    partition: str
    at_ms: int
    outcome: str
    why: str
    instances: int
    reasons: Mapping[str, int]
    hosts: frozenset[str]


class DecisionLog(NamedTuple):
    """Decisions of a partition in an epoch, oldest first. The page after ``marker`` is read again."""

    epoch: int
    marker: str | None = None
    complete: Sequence[DecisionSummary] = ()
    last_page: Sequence[DecisionSummary] = ()

    def decisions(self) -> Iterator[DecisionSummary]:
        yield from self.complete
        yield from self.last_page

    def read_new(self, session: Session, partition: str) -> "DecisionLog":
        """Extend the log by up to MOST_PAGES pages; the next call continues."""
        marker, complete = self.marker, collections.deque(self.complete, MOST)
        for _ in range(MOST_PAGES):
            page = session.call(session.scheduler.list_decisions, partition, marker, PAGE)
            summaries = [_summary(decision) for decision in page.decisions]
            if page.marker is None:
                return self._replace(marker=marker, complete=tuple(complete), last_page=summaries)
            complete.extend(summaries)
            marker = page.marker
        return self._replace(marker=marker, complete=tuple(complete), last_page=())


def read(
    session: Session, partitions: objects.PartitionList, previous: Mapping[str, DecisionLog] | None
) -> dict[str, DecisionLog]:
    """Extend each partition's log; start over after a new epoch or an unknown marker."""
    logs: dict[str, DecisionLog] = {}
    for name, epoch in zip(partitions.names, partitions.epochs, strict=True):
        log = (previous or {}).get(name, DecisionLog(epoch))
        if log.epoch != epoch:
            log = DecisionLog(epoch)
        try:
            logs[name] = log.read_new(session, name)
        except NO_ANSWER:
            logs[name] = log
        except errors.InvalidRequest:
            logs[name] = DecisionLog(epoch)
    return logs


def newest(logs: Mapping[str, DecisionLog], most: int, *, host: str = "") -> list[DecisionSummary]:
    matches = (item for log in logs.values() for item in log.decisions() if not host or host in item.hosts)
    return heapq.nlargest(most, matches, key=lambda item: item.at_ms)


def refusals(logs: Mapping[str, DecisionLog]) -> list[DecisionSummary]:
    """Return the last refusal of each unplaced request, newest first; partitions and retries record one each."""
    last: dict[str, DecisionSummary] = {}
    placed_ids: set[str] = set()
    for log in logs.values():
        for item in log.decisions():
            if item.outcome == SELECTED:
                placed_ids.add(item.request_id)
            elif item.outcome == REFUSED and (item.request_id not in last or item.at_ms > last[item.request_id].at_ms):
                last[item.request_id] = item
    return sorted(
        (item for request_id, item in last.items() if request_id not in placed_ids),
        key=lambda item: item.at_ms,
        reverse=True,
    )


def known_since(logs: Mapping[str, DecisionLog]) -> int | None:
    """Return the time from which the decisions of all partitions are known."""
    return max((item.at_ms for log in logs.values() for item in itertools.islice(log.decisions(), 1)), default=None)


class RefusalChart(NamedTuple):
    """Refused requests over time; a bar is (start, counts in the order of ``reasons``)."""

    reasons: Sequence[str]
    bar_ms: int
    bars: Sequence[tuple[int, Sequence[int]]]

    @property
    def highest(self) -> int:
        return max((sum(counts) for _, counts in self.bars), default=0)

    def totals(self) -> list[tuple[str, int]]:
        return [(reason, sum(counts[index] for _, counts in self.bars)) for index, reason in enumerate(self.reasons)]


def chart(refused: Iterable[DecisionSummary], now_ms: int, minutes: int, bars: int = 60) -> RefusalChart:
    bar_ms = max(1, minutes * 60_000 // bars)
    start = now_ms - bars * bar_ms
    entries = [
        (int((item.at_ms - start) // bar_ms), main_reason(item)) for item in refused if start <= item.at_ms < now_ms
    ]
    ordered = [reason for reason, _ in collections.Counter(reason for _, reason in entries).most_common()]
    reasons = ordered[:LARGEST_REASONS] + ([OTHERS] if len(ordered) > LARGEST_REASONS else [])
    counts = collections.Counter((bar, reason if reason in reasons else OTHERS) for bar, reason in entries)
    return RefusalChart(
        reasons, bar_ms, [(start + bar * bar_ms, [counts[bar, reason] for reason in reasons]) for bar in range(bars)]
    )


def main_reason(decision: DecisionSummary) -> str:
    """Return the reason that rejected the most hosts, otherwise the refusal's text."""
    if not decision.reasons:
        return decision.why or "no reason recorded"
    return max(decision.reasons, key=lambda reason: (decision.reasons[reason], reason))


def _summary(decision: Any) -> DecisionSummary:
    document = decision.document
    return DecisionSummary(
        decision.request_id,
        decision.partition,
        document.get("at_ms") or 0,
        document.get("outcome") or "",
        document.get("why") or "",
        document.get("instances") or 0,
        document.get("reasons") or {},
        frozenset(item["host"] for item in document.get("verdicts") or () if item.get("host")),
    )
