# SPDX-License-Identifier: Apache-2.0
"""Where two deciders differ on an instance, and why, as far as their records tell."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from devstack.lab.shadow.records import Decided, Records

NOBODY = "-"  # stands for the instances of a request that neither record names


class Kind(StrEnum):
    """What the two made of one instance."""

    SAME = "same host"
    ELSEWHERE = "another host"
    REFUSED_BY_A = "refused by A only"
    REFUSED_BY_B = "refused by B only"
    REFUSED_BY_BOTH = "refused by both"
    ONLY_IN_A = "only in A"
    ONLY_IN_B = "only in B"


ALIKE = (Kind.SAME, Kind.REFUSED_BY_BOTH)


@dataclass(frozen=True, slots=True)
class Compared:
    """One instance.

    ``a_scores`` is by how much A scores its own choice above B's, None where A's record does not have both;
    ``b_scores`` the other way round.
    """

    kind: Kind
    request_id: str
    consumer: str
    a_host: str | None = None
    b_host: str | None = None
    a_scores: float | None = None
    b_scores: float | None = None
    why: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return it as programs read it."""
        return asdict(self) | {"kind": str(self.kind)}

    def sentence(self) -> str:
        """Return it as a person reads it."""
        told = f"{self.request_id} {self.consumer}: {self.kind}"
        if self.kind is Kind.ELSEWHERE:
            told += f": A {self.a_host}, B {self.b_host}"
        elif self.a_host or self.b_host:
            told += f", the other chose {self.a_host or self.b_host}"
        return f"{told}; {self.why}" if self.why else told


def compare(a: Records, b: Records) -> Iterator[Compared]:
    """Yield every instance of every request that either decided."""
    for request_id in a:
        if request_id in b:
            yield from _request(request_id, a.find(request_id), b.find(request_id))
        else:
            yield from _alone(Kind.ONLY_IN_A, request_id, a.find(request_id))
    for request_id in b:
        if request_id not in a:
            yield from _alone(Kind.ONLY_IN_B, request_id, b.find(request_id))


def _alone(kind: Kind, request_id: str, decided: Decided) -> Iterator[Compared]:
    for consumer in decided.hosts or (NOBODY,):
        yield Compared(kind, request_id, consumer)


def _request(request_id: str, a: Decided, b: Decided) -> Iterator[Compared]:
    for consumer in {**a.hosts, **b.hosts} or (NOBODY,):
        # A refusal is one of the whole request, and need not name whom it was for.
        if not a.refused and consumer not in a.hosts:
            yield Compared(Kind.ONLY_IN_B, request_id, consumer)
        elif not b.refused and consumer not in b.hosts:
            yield Compared(Kind.ONLY_IN_A, request_id, consumer)
        else:
            yield _instance(request_id, consumer, a, b)


def _instance(request_id: str, consumer: str, a: Decided, b: Decided) -> Compared:
    ours, theirs = a.host(consumer), b.host(consumer)
    if ours is None and theirs is None:
        return Compared(Kind.REFUSED_BY_BOTH, request_id, consumer)
    if ours is None:
        return Compared(Kind.REFUSED_BY_A, request_id, consumer, None, theirs, why=_refusal(a, b))
    if theirs is None:
        return Compared(Kind.REFUSED_BY_B, request_id, consumer, ours, None, why=_refusal(b, a))
    if ours == theirs:
        return Compared(Kind.SAME, request_id, consumer, ours, theirs)
    by_a, by_b = _above(a, ours, theirs), _above(b, theirs, ours)
    why = "; ".join(_scored(*told) for told in (("A", a, ours, "B", theirs), ("B", b, theirs, "A", ours)))
    return Compared(Kind.ELSEWHERE, request_id, consumer, ours, theirs, by_a, by_b, why + _numbers(a, b))


def _refusal(refuser: Decided, other: Decided) -> str:
    reasons = ", ".join(f"{count} {reason}" for reason, count in refuser.reasons.items())
    return (refuser.why or reasons or "no reason is recorded") + _numbers(refuser, other)


def _numbers(one: Decided, other: Decided) -> str:
    """Say so where they did not look at equally many hosts: then they do not know the same cluster."""
    if one.looked_at is None or other.looked_at is None or one.looked_at == other.looked_at:
        return ""
    return f"; they looked at {one.looked_at} and {other.looked_at} hosts"


def _above(judge: Decided, own: str, other: str) -> float | None:
    if own in judge.best and other in judge.best:
        return judge.best[own].score - judge.best[other].score
    return None


def _scored(name: str, judge: Decided, own: str, other_name: str, other: str) -> str:
    """Say how a decider scores the other's choice beside its own."""
    if not judge.best:
        return f"{name} recorded no scores"
    if other not in judge.best:
        return f"{other_name}'s choice is not among the {len(judge.best)} best of {name}"
    if own not in judge.best:
        return f"{name}'s own choice is not among its {len(judge.best)} best"
    above = judge.best[own].score - judge.best[other].score
    if abs(above) < 1e-9:
        return f"{name} scores both alike"
    more = _weights(judge.best[own].weights, judge.best[other].weights)
    return f"{name} scores its own {above:+.3f} beside {other_name}'s" + (f" ({more})" if more else "")


def _weights(own: Mapping[str, float], other: Mapping[str, float]) -> str:
    changes = {name: own.get(name, 0.0) - other.get(name, 0.0) for name in {**own, **other}}
    return ", ".join(f"{name} {change:+.3f}" for name, change in changes.items() if abs(change) >= 0.0005)
