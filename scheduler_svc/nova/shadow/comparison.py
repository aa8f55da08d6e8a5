# SPDX-License-Identifier: Apache-2.0
"""Comparison of gantt's decision with the hosts that Nova chose."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from scheduler_svc.core.filtering.survey import TOLERANCE, HostVerdict
from scheduler_svc.nova.shadow.decisions import ShadowDecision

MAX_REASONS = 3  # most frequent reasons shown for a refusal


class ShadowOutcome(StrEnum):
    SAME = "same host"
    EQUAL = "another host with an equal score"
    OTHER = "another host"
    REFUSED_HOST = "Nova's host refused by gantt"
    REFUSED_BY_GANTT = "refused by gantt only"
    REFUSED_BY_NOVA = "refused by Nova only"
    REFUSED_BY_BOTH = "refused by both"


AGREEMENTS = frozenset({ShadowOutcome.SAME, ShadowOutcome.EQUAL, ShadowOutcome.REFUSED_BY_BOTH})


@dataclass(frozen=True, slots=True)
class ShadowComparison:
    consumer: str
    outcome: ShadowOutcome
    nova_host: str  # '' if Nova refused
    gantt_host: str  # '' if gantt refused
    why: str = ""
    rank: int = 0  # Rank of Nova's host by gantt's scores; 0 for no host, or a host that gantt rejected.
    count: int = 0  # hosts that pass gantt's filters


@dataclass(frozen=True, slots=True)
class NamedRow:
    """Host with its row in the table, None without a row, and its name in Nova."""

    row: int | None
    name: str


FindHost = Callable[[str], NamedRow]


def compare(decision: ShadowDecision, nova_hosts: Sequence[str], find: FindHost) -> list[ShadowComparison]:
    """Compare the decision with Nova's hosts; return a comparison per instance.

    Instances are interchangeable: a host that both chose counts as the same for any of them. ``nova_hosts`` are table
    names; empty if Nova refused.
    """
    gantt_replica_hosts = list(decision.hosts)
    if not nova_hosts:
        names = [find(name).name for name in gantt_replica_hosts] or [""] * len(decision.consumers)
        pairs = zip(decision.consumers, names, strict=True)
        return [_refused_by_nova(decision, consumer, host) for consumer, host in pairs]
    common = Counter(nova_hosts) & Counter(gantt_replica_hosts)
    others = list((Counter(gantt_replica_hosts) - common).elements())
    comparisons = []
    for consumer, name in zip(decision.consumers, nova_hosts, strict=True):
        if common[name]:
            common[name] -= 1
            nova_name = find(name).name
            verdict = _verdict(decision, find(name).row)
            comparisons.append(
                ShadowComparison(consumer, ShadowOutcome.SAME, nova_name, nova_name, "", verdict.rank, verdict.count)
            )
        else:
            comparisons.append(_elsewhere(decision, consumer, find(name), find(others.pop(0)) if others else None))
    return comparisons


def _refused_by_nova(decision: ShadowDecision, consumer: str, gantt_host: str) -> ShadowComparison:
    if gantt_host:
        return ShadowComparison(consumer, ShadowOutcome.REFUSED_BY_NOVA, "", gantt_host)
    return ShadowComparison(consumer, ShadowOutcome.REFUSED_BY_BOTH, "", "", refusal_text(decision))


def _elsewhere(
    decision: ShadowDecision, consumer: str, nova_host: NamedRow, gantt_host: NamedRow | None
) -> ShadowComparison:
    verdict = _verdict(decision, nova_host.row)
    if gantt_host is None:
        why = verdict.reason or refusal_text(decision)
        return ShadowComparison(consumer, ShadowOutcome.REFUSED_BY_GANTT, nova_host.name, "", why)
    if verdict.reason is not None:
        return ShadowComparison(consumer, ShadowOutcome.REFUSED_HOST, nova_host.name, gantt_host.name, verdict.reason)
    is_equal = bool(verdict.rank) and verdict.score >= _verdict(decision, gantt_host.row).score - TOLERANCE
    outcome = ShadowOutcome.EQUAL if is_equal else ShadowOutcome.OTHER
    return ShadowComparison(
        consumer, outcome, nova_host.name, gantt_host.name, _rank_text(verdict), verdict.rank, verdict.count
    )


def _verdict(decision: ShadowDecision, row: int | None) -> HostVerdict:
    if decision.survey is None:
        return HostVerdict(decision.why)
    return decision.survey.verdict(row)


def _rank_text(verdict: HostVerdict) -> str:
    return f"rank {verdict.rank} of {verdict.count}" if verdict.rank else f"one of {verdict.count}"


def refusal_text(decision: ShadowDecision) -> str:
    """Return gantt's most frequent reasons, or its message if it considered no hosts."""
    reasons = Counter(decision.document.get("reasons") or {})
    if not reasons:
        return decision.why
    return ", ".join(f"{count} {reason}" for reason, count in reasons.most_common(MAX_REASONS))
