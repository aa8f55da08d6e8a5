# SPDX-License-Identifier: Apache-2.0
"""lab.sh shadow: where and why two decision records differ."""

import argparse
import contextlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from devstack.lab.benchmark import Benchmark, positive
from devstack.lab.rows import ResultRow
from devstack.lab.shadow.compare import AGREEMENTS, DifferenceKind, RecordComparison, compare
from devstack.lab.shadow.records import DecisionRecords
from rpcapi.cli.command import CommandFailed

SHOWN_DIFFERENCES = 20


class ShadowBenchmark(Benchmark):
    """Compare two decision records of the same requests, instance by instance.

    A and B are files with one JSON object per line, as `gantt decision export` writes them; docs/shadow.md documents
    the format, so that another scheduler's decisions can be converted to it. Ratios are shares of all instances.
    """

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        self._shown_differences: list[RecordComparison] = []

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("a", type=Path, metavar="A", help="One scheduler's decisions.")
        parser.add_argument("b", type=Path, metavar="B", help="The other's.")
        parser.add_argument(
            "--show",
            type=positive,
            default=SHOWN_DIFFERENCES,
            metavar="N",
            help="Print the first N differences (%(default)s).",
        )
        parser.add_argument(
            "--differences", type=Path, metavar="FILE", help="Write all differences, one JSON object per line."
        )
        return parser

    def measure(self, args: argparse.Namespace) -> Sequence[ResultRow]:
        self._shown_differences = []
        counts: Counter[DifferenceKind] = Counter()
        scores = ScoreMargins()
        with DecisionRecords(args.a) as a, DecisionRecords(args.b) as b, _open_output(args.differences) as file:
            for comparison in compare(a, b):
                counts[comparison.kind] += 1
                if comparison.kind in AGREEMENTS:
                    continue
                scores.add(comparison)
                if len(self._shown_differences) < args.show:
                    self._shown_differences.append(comparison)
                if file is not None:
                    file.write(json.dumps(comparison.as_dict()) + "\n")
        return list(_rows(counts, scores))

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        code = super().take_action(parsed_args)
        if not parsed_args.json:
            for comparison in self._shown_differences:
                self.app.stdout.write(comparison.sentence() + "\n")
        return code


class ScoreMargins:
    """Statistics of how the two schedulers score each other's different choices."""

    def __init__(self) -> None:
        self._margins: dict[str, list[float]] = {"a": [], "b": []}
        self._ties = 0

    def add(self, comparison: RecordComparison) -> None:
        """Count one instance."""
        if comparison.kind is not DifferenceKind.ELSEWHERE:
            return
        margins = {"a": comparison.a_scores, "b": comparison.b_scores}
        for name, margin in margins.items():
            if margin is not None:
                self._margins[name].append(margin)
        self._ties += any(margin is not None and abs(margin) < 1e-9 for margin in margins.values())

    def figures(self) -> dict[str, float | int]:
        """Return how often both choices were scored, the mean margin of the own choice, and the number of ties."""
        result: dict[str, float | int] = {"alike_scores": self._ties}
        for name, margins in self._margins.items():
            result[f"scored_by_{name}"] = len(margins)
            result[f"own_above_mean_by_{name}"] = sum(margins) / len(margins) if margins else 0.0
        return result


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


def _rows(counts: Counter[DifferenceKind], scores: ScoreMargins) -> Iterator[ResultRow]:
    for kind in DifferenceKind:
        more = scores.figures() if kind is DifferenceKind.ELSEWHERE else {}
        figures = {"instances": counts[kind], "of_instances": counts.total(), **more}
        yield ResultRow(str(kind), counts[kind] / counts.total(), figures=figures)
