# SPDX-License-Identifier: Apache-2.0
"""Comparison of two schedulers' decisions per instance, and the reasons for differences as recorded."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from devstack.lab.shadow.records import DecisionRecords, DecisionRow

UNNAMED_INSTANCES = "-"  # placeholder if neither record names the request's instances


class DifferenceKind(StrEnum):
    """Result of comparing the two decisions about one instance."""

    SAME = "same host"
    ELSEWHERE = "another host"
    REFUSED_BY_A = "refused by A only"
    REFUSED_BY_B = "refused by B only"
    REFUSED_BY_BOTH = "refused by both"
    ONLY_IN_A = "only in A"
    ONLY_IN_B = "only in B"


AGREEMENTS = (DifferenceKind.SAME, DifferenceKind.REFUSED_BY_BOTH)


@dataclass(frozen=True, slots=True)
class RecordComparison:
    """The comparison of one instance.

    ``a_scores`` is by how much A scores its own choice above B's, None if A's record does not have both scores;
    ``b_scores`` is the same for B.
    """

    kind: DifferenceKind
    request_id: str
    consumer: str
    a_host: str | None = None
    b_host: str | None = None
    a_scores: float | None = None
    b_scores: float | None = None
    why: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison for JSON output."""
        return asdict(self) | {"kind": str(self.kind)}

    def sentence(self) -> str:
        """Return the comparison as one line of text."""
        text = f"{self.request_id} {self.consumer}: {self.kind}"
        if self.kind is DifferenceKind.ELSEWHERE:
            text += f": A {self.a_host}, B {self.b_host}"
        elif self.a_host or self.b_host:
            text += f", the other chose {self.a_host or self.b_host}"
        return f"{text}; {self.why}" if self.why else text


def compare(a: DecisionRecords, b: DecisionRecords) -> Iterator[RecordComparison]:
    """Compare every instance of every request in either record."""
    for request_id in a:
        if request_id in b:
            yield from _compare_requests(request_id, a.find(request_id), b.find(request_id))
        else:
            yield from _compare_unmatched(DifferenceKind.ONLY_IN_A, request_id, a.find(request_id))
    for request_id in b:
        if request_id not in a:
            yield from _compare_unmatched(DifferenceKind.ONLY_IN_B, request_id, b.find(request_id))


def _compare_unmatched(kind: DifferenceKind, request_id: str, decision: DecisionRow) -> Iterator[RecordComparison]:
    for consumer in decision.hosts or (UNNAMED_INSTANCES,):
        yield RecordComparison(kind, request_id, consumer)


def _compare_requests(request_id: str, a: DecisionRow, b: DecisionRow) -> Iterator[RecordComparison]:
    for consumer in {**a.hosts, **b.hosts} or (UNNAMED_INSTANCES,):
        # A refusal is for the whole request and need not name its instances.
        if not a.refused and consumer not in a.hosts:
            yield RecordComparison(DifferenceKind.ONLY_IN_B, request_id, consumer)
        elif not b.refused and consumer not in b.hosts:
            yield RecordComparison(DifferenceKind.ONLY_IN_A, request_id, consumer)
        else:
            yield _compare_instances(request_id, consumer, a, b)


def _compare_instances(request_id: str, consumer: str, a: DecisionRow, b: DecisionRow) -> RecordComparison:
    a_host, b_host = a.host(consumer), b.host(consumer)
    if a_host is None and b_host is None:
        return RecordComparison(DifferenceKind.REFUSED_BY_BOTH, request_id, consumer)
    if a_host is None:
        return RecordComparison(
            DifferenceKind.REFUSED_BY_A, request_id, consumer, None, b_host, why=_describe_refusal(a, b)
        )
    if b_host is None:
        return RecordComparison(
            DifferenceKind.REFUSED_BY_B, request_id, consumer, a_host, None, why=_describe_refusal(b, a)
        )
    if a_host == b_host:
        return RecordComparison(DifferenceKind.SAME, request_id, consumer, a_host, b_host)
    a_margin, b_margin = _margin(a, a_host, b_host), _margin(b, b_host, a_host)
    why = "; ".join(
        _describe_scores(*arguments) for arguments in (("A", a, a_host, "B", b_host), ("B", b, b_host, "A", a_host))
    )
    return RecordComparison(
        DifferenceKind.ELSEWHERE,
        request_id,
        consumer,
        a_host,
        b_host,
        a_margin,
        b_margin,
        why + _describe_host_counts(a, b),
    )


def _describe_refusal(refusing: DecisionRow, other: DecisionRow) -> str:
    reasons = ", ".join(f"{count} {reason}" for reason, count in refusing.reasons.items())
    return (refusing.why or reasons or "no reason is recorded") + _describe_host_counts(refusing, other)


def _describe_host_counts(first: DecisionRow, second: DecisionRow) -> str:
    """Return a note if the two had different numbers of hosts: then they did not know the same cluster."""
    if first.host_count is None or second.host_count is None or first.host_count == second.host_count:
        return ""
    return f"; they looked at {first.host_count} and {second.host_count} hosts"


def _margin(judge: DecisionRow, own: str, other: str) -> float | None:
    if own in judge.best and other in judge.best:
        return judge.best[own].score - judge.best[other].score
    return None


def _describe_scores(name: str, judge: DecisionRow, own: str, other_name: str, other: str) -> str:
    """Describe how one scheduler scores the other's choice relative to its own."""
    if not judge.best:
        return f"{name} recorded no scores"
    if other not in judge.best:
        return f"{other_name}'s choice is not among the {len(judge.best)} best of {name}"
    if own not in judge.best:
        return f"{name}'s own choice is not among its {len(judge.best)} best"
    margin = judge.best[own].score - judge.best[other].score
    if abs(margin) < 1e-9:
        return f"{name} scores both alike"
    more = _weights(judge.best[own].weights, judge.best[other].weights)
    return f"{name} scores its own {margin:+.3f} beside {other_name}'s" + (f" ({more})" if more else "")


def _weights(own: Mapping[str, float], other: Mapping[str, float]) -> str:
    changes = {name: own.get(name, 0.0) - other.get(name, 0.0) for name in {**own, **other}}
    return ", ".join(f"{name} {change:+.3f}" for name, change in changes.items() if abs(change) >= 0.0005)
