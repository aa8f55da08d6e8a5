# SPDX-License-Identifier: Apache-2.0
"""Summaries of the recorded decisions of all partitions, and refusals over time."""

import collections
import heapq
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rpcapi import errors, objects
from rpcapi.cli.session import Session
from rpcapi.dashboard.away import AWAY

PAGE = 100
MOST_PAGES = 50  # of one read
MOST = 10_000  # of each partition; the newest ones
SELECTED, REFUSED = "selected", "refused"
LARGEST_REASONS = 6  # which have a colour of their own in the chart; the others share one
OTHERS = "other reasons"


class Decision(NamedTuple):
    """What lists show of a decision; ``reasons`` has the number of hosts that each filter rejected."""

    request_id: str
    partition: str
    at_ms: int
    outcome: str
    why: str
    instances: int
    reasons: Mapping[str, int]
    hosts: frozenset[str]


class DecisionLog(NamedTuple):
    """The decisions of a partition in an epoch, oldest first; those after ``marker``, the last page, are read again."""

    epoch: int
    marker: str | None = None
    complete: Sequence[Decision] = ()
    last_page: Sequence[Decision] = ()

    def decisions(self) -> Iterator[Decision]:
        """Yield all of them."""
        yield from self.complete
        yield from self.last_page

    def read_new(self, session: Session, partition: str) -> "DecisionLog":
        """Return the log with what was recorded since, of much only the beginning: the next call continues."""
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
    """Return the decisions by partition, what was read before and what is new; those of a store that is down stay.

    A new epoch, or a store that does not know the marker, is read from its beginning.
    """
    logs: dict[str, DecisionLog] = {}
    for name, epoch in zip(partitions.names, partitions.epochs, strict=True):
        log = (previous or {}).get(name, DecisionLog(epoch))
        if log.epoch != epoch:
            log = DecisionLog(epoch)
        try:
            logs[name] = log.read_new(session, name)
        except AWAY:
            logs[name] = log
        except errors.InvalidRequest:
            logs[name] = DecisionLog(epoch)
    return logs


def newest(logs: Mapping[str, DecisionLog], most: int, *, host: str = "") -> list[Decision]:
    """Return the newest decisions; those that selected ``host`` where it is named."""
    matches = (item for log in logs.values() for item in log.decisions() if not host or host in item.hosts)
    return heapq.nlargest(most, matches, key=lambda item: item.at_ms)


def refusals(logs: Mapping[str, DecisionLog]) -> list[Decision]:
    """Return the last refusal of each request that was not placed, newest first.

    Each partition that refuses a request records it, and each try of a request that is repeated.
    """
    last: dict[str, Decision] = {}
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
    """Return the time from which on the decisions of all partitions are known, None where there is none."""
    return max((item.at_ms for log in logs.values() for item in itertools.islice(log.decisions(), 1)), default=None)


class RefusalChart(NamedTuple):
    """Refused requests over time: for each bar its start and the number of each of ``reasons``."""

    reasons: Sequence[str]
    bar_ms: int
    bars: Sequence[tuple[int, Sequence[int]]]

    @property
    def highest(self) -> int:
        """The number of refusals of the highest bar."""
        return max((sum(counts) for _, counts in self.bars), default=0)

    def totals(self) -> list[tuple[str, int]]:
        """Return the number of refusals for each reason."""
        return [(reason, sum(counts[index] for _, counts in self.bars)) for index, reason in enumerate(self.reasons)]


def chart(refused: Iterable[Decision], now_ms: int, minutes: int, bars: int = 60) -> RefusalChart:
    """Count the refused requests of the last ``minutes``, each by the reason that rejected the most hosts."""
    bar_ms = max(1, minutes * 60_000 // bars)
    start = now_ms - bars * bar_ms
    entries = [
        (int((item.at_ms - start) // bar_ms), main_reason(item)) for item in refused if start <= item.at_ms < now_ms
    ]
    ordered = [reason for reason, _ in collections.Counter(reason for _, reason in entries).most_common()]
    reasons = ordered[:LARGEST_REASONS] + ([OTHERS] if len(ordered) > LARGEST_REASONS else [])
    counts = collections.Counter((bar, reason if reason in reasons else OTHERS) for bar, reason in entries)
    return RefusalChart(
        reasons,
        bar_ms,
        [(start + bar * bar_ms, [counts[bar, reason] for reason in reasons]) for bar in range(bars)],
    )


def main_reason(decision: Decision) -> str:
    """Return the reason that rejected the most hosts, the text of the refusal where no filter rejected any."""
    if not decision.reasons:
        return decision.why or "no reason recorded"
    return max(decision.reasons, key=lambda reason: (decision.reasons[reason], reason))


def _summary(decision: Any) -> Decision:
    document = decision.document
    return Decision(
        decision.request_id,
        decision.partition,
        document.get("at_ms") or 0,
        document.get("outcome") or "",
        document.get("why") or "",
        document.get("instances") or 0,
        document.get("reasons") or {},
        frozenset(item["host"] for item in document.get("verdicts") or () if item.get("host")),
    )
