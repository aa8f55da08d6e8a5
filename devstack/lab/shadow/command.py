# SPDX-License-Identifier: Apache-2.0
"""lab.sh shadow: where and why two decision records differ."""

import argparse
import contextlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import IO, Any

from devstack.lab.benchmark import Benchmark, option
from devstack.lab.rows import ResultRow
from devstack.lab.shadow.records import DecisionRecords, DecisionRow
from rpcapi.admin.argument import Argument
from rpcapi.cli.command import CommandFailed

UNNAMED_INSTANCES = "-"  # placeholder if neither record names the request's instances

SHOWN_DIFFERENCES = 20


class DifferenceKind(StrEnum):
    """Result of comparing two decisions about one instance."""

    SAME = "same host"
    ELSEWHERE = "another host"
    REFUSED_BY_A = "refused by A only"
    REFUSED_BY_B = "refused by B only"
    REFUSED_BY_BOTH = "refused by both"
    ONLY_IN_A = "only in A"
    ONLY_IN_B = "only in B"


Margins = tuple[float | None, float | None]  # margins of the own choice over the other's, by A and by B
AGREEMENTS = (DifferenceKind.SAME, DifferenceKind.REFUSED_BY_BOTH)


@dataclass(frozen=True, slots=True)
class RecordComparison:
    """Comparison of one instance; ``a_scores`` is A's margin of its own choice over B's, ``b_scores`` vice versa."""

    kind: DifferenceKind
    request_id: str
    consumer: str
    a_host: str | None = None
    b_host: str | None = None
    a_scores: float | None = None
    b_scores: float | None = None
    why: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"kind": str(self.kind)}

    def sentence(self) -> str:
        text = f"{self.request_id} {self.consumer}: {self.kind}"
        if self.kind is DifferenceKind.ELSEWHERE:
            text += f": A {self.a_host}, B {self.b_host}"
        elif self.a_host or self.b_host:
            text += f", the other chose {self.a_host or self.b_host}"
        return f"{text}; {self.why}" if self.why else text


def compare(a: DecisionRecords, b: DecisionRecords) -> Iterator[RecordComparison]:
    for request_id in dict.fromkeys([*a, *b]):
        in_a, in_b = a.find(request_id), b.find(request_id)
        for consumer in {**in_a.hosts, **in_b.hosts} or (UNNAMED_INSTANCES,):
            if not in_a.decides(consumer):
                yield RecordComparison(DifferenceKind.ONLY_IN_B, request_id, consumer)
            elif not in_b.decides(consumer):
                yield RecordComparison(DifferenceKind.ONLY_IN_A, request_id, consumer)
            else:
                yield _compare_instances(request_id, consumer, in_a, in_b)


def _compare_instances(request_id: str, consumer: str, a: DecisionRow, b: DecisionRow) -> RecordComparison:
    a_host, b_host = a.host(consumer), b.host(consumer)
    compared = partial(RecordComparison, request_id=request_id, consumer=consumer, a_host=a_host, b_host=b_host)
    if a_host is None:
        if b_host is None:
            return compared(DifferenceKind.REFUSED_BY_BOTH)
        return compared(DifferenceKind.REFUSED_BY_A, why=_describe_refusal(a, b))
    if b_host is None:
        return compared(DifferenceKind.REFUSED_BY_B, why=_describe_refusal(b, a))
    if a_host == b_host:
        return compared(DifferenceKind.SAME)
    scores = _describe_scores("A", a, a_host, "B", b_host), _describe_scores("B", b, b_host, "A", a_host)
    return compared(
        DifferenceKind.ELSEWHERE,
        a_scores=_margin(a, a_host, b_host),
        b_scores=_margin(b, b_host, a_host),
        why="; ".join(scores) + _describe_host_counts(a, b),
    )


def _describe_refusal(refusing: DecisionRow, other: DecisionRow) -> str:
    reasons = ", ".join(f"{count} {reason}" for reason, count in refusing.reasons.items())
    return (refusing.why or reasons or "no reason is recorded") + _describe_host_counts(refusing, other)


def _describe_host_counts(first: DecisionRow, second: DecisionRow) -> str:
    """Return a note if the decisions considered different numbers of hosts, hence different clusters."""
    if first.host_count is None or second.host_count is None or first.host_count == second.host_count:
        return ""
    return f"; they looked at {first.host_count} and {second.host_count} hosts"


def _margin(judge: DecisionRow, own: str, other: str) -> float | None:
    if own in judge.best and other in judge.best:
        return judge.best[own].score - judge.best[other].score
    return None


def _describe_scores(name: str, judge: DecisionRow, own: str, other_name: str, other: str) -> str:
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


class ShadowBenchmark(Benchmark):
    """Compare two decision records of the same requests, instance by instance.

    A and B have one JSON object per line, as `gantt decision export` writes them; docs/shadow.md documents the format
    for records of other schedulers. Ratios are shares of all instances.
    """

    ARGUMENTS = (
        Argument("a", type=Path, metavar="A", help="One scheduler's decisions."),
        Argument("b", type=Path, metavar="B", help="The other's."),
        option("--show", "Print the first N differences", default=SHOWN_DIFFERENCES),
        option("--differences", "Write all differences, one JSON object per line", Path, metavar="FILE"),
    )

    def measure(self, args: argparse.Namespace) -> Iterator[ResultRow]:
        self._shown_differences: list[RecordComparison] = []
        counts: Counter[DifferenceKind] = Counter()
        scores: list[Margins] = []
        with DecisionRecords(args.a) as a, DecisionRecords(args.b) as b, _open_output(args.differences) as file:
            for comparison in compare(a, b):
                counts[comparison.kind] += 1
                if comparison.kind in AGREEMENTS:
                    continue
                if comparison.kind is DifferenceKind.ELSEWHERE:
                    scores.append((comparison.a_scores, comparison.b_scores))
                if len(self._shown_differences) < args.show:
                    self._shown_differences.append(comparison)
                if file is not None:
                    file.write(json.dumps(comparison.as_dict()) + "\n")
        yield from _rows(counts, scores)

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        code = super().take_action(parsed_args)
        if not parsed_args.json:
            for comparison in self._shown_differences:
                self.app.stdout.write(comparison.sentence() + "\n")
        return code


@contextlib.contextmanager
def _open_output(path: Path | None) -> Iterator[IO[str] | None]:
    if path is None:
        yield None
        return
    try:
        with path.open("w", encoding="utf-8") as file:
            yield file
    except OSError as why:
        raise CommandFailed(f"The differences cannot be written to {path}: {why}") from why


def _rows(counts: Counter[DifferenceKind], scores: Sequence[Margins]) -> Iterator[ResultRow]:
    for kind in DifferenceKind:
        more = _score_figures(scores) if kind is DifferenceKind.ELSEWHERE else {}
        figures = {"instances": counts[kind], "of_instances": counts.total(), **more}
        yield ResultRow(str(kind), counts[kind] / counts.total(), figures=figures)


def _score_figures(scores: Sequence[Margins]) -> dict[str, float | int]:
    """Return the number of ties, and per scheduler its scored pairs and the mean margin of its own choice."""
    ties = sum(any(margin is not None and abs(margin) < 1e-9 for margin in pair) for pair in scores)
    figures: dict[str, float | int] = {"alike_scores": ties}
    for name, column in (("a", [a for a, _ in scores]), ("b", [b for _, b in scores])):
        margins = [margin for margin in column if margin is not None]
        figures[f"scored_by_{name}"] = len(margins)
        figures[f"own_above_mean_by_{name}"] = sum(margins) / len(margins) if margins else 0.0
    return figures
