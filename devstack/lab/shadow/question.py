# SPDX-License-Identifier: Apache-2.0
"""gantt-lab shadow: where and why do two decision records differ?"""

import argparse
import contextlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from devstack.lab.command import Question, positive
from devstack.lab.rows import Row
from devstack.lab.shadow.compare import ALIKE, Compared, Kind, compare
from devstack.lab.shadow.records import Records
from rpcapi.shell.faults import CommandFailed

SHOWN = 20


class Shadow(Question):
    """Compare two decision records of the same requests, instance by instance.

    A and B are files with a JSON object a line, as `gantt decision export` writes them; docs/shadow.md has the form, so
    that another scheduler's decisions can be brought into it. Ratios are shares of all instances.
    """

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        self._shown: list[Compared] = []

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("a", type=Path, metavar="A", help="One scheduler's decisions.")
        parser.add_argument("b", type=Path, metavar="B", help="The other's.")
        parser.add_argument(
            "--show", type=positive, default=SHOWN, metavar="N", help="Print the first N differences (%(default)s)."
        )
        parser.add_argument(
            "--differences", type=Path, metavar="FILE", help="Write all differences, a JSON object a line."
        )
        return parser

    def measure(self, args: argparse.Namespace) -> Sequence[Row]:
        self._shown = []
        counts: Counter[Kind] = Counter()
        scores = Scores()
        with Records(args.a) as a, Records(args.b) as b, _written(args.differences) as file:
            for one in compare(a, b):
                counts[one.kind] += 1
                if one.kind in ALIKE:
                    continue
                scores.add(one)
                if len(self._shown) < args.show:
                    self._shown.append(one)
                if file is not None:
                    file.write(json.dumps(one.as_dict()) + "\n")
        return list(_rows(counts, scores))

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        code = super().take_action(parsed_args)
        if not parsed_args.json:
            for one in self._shown:
                self.app.stdout.write(one.sentence() + "\n")
        return code


class Scores:
    """How the two score each other's choices where they chose differently."""

    def __init__(self) -> None:
        self._above: dict[str, list[float]] = {"a": [], "b": []}
        self._ties = 0

    def add(self, one: Compared) -> None:
        """Count an instance in."""
        if one.kind is not Kind.ELSEWHERE:
            return
        told = {"a": one.a_scores, "b": one.b_scores}
        for name, above in told.items():
            if above is not None:
                self._above[name].append(above)
        self._ties += any(above is not None and abs(above) < 1e-9 for above in told.values())

    def figures(self) -> dict[str, float | int]:
        """Return how often both were scored, the mean by which a decider prefers its own, and how often not at all."""
        found: dict[str, float | int] = {"alike_scores": self._ties}
        for name, above in self._above.items():
            found[f"scored_by_{name}"] = len(above)
            found[f"own_above_mean_by_{name}"] = sum(above) / len(above) if above else 0.0
        return found


@contextlib.contextmanager
def _written(path: Path | None) -> Iterator[IO[str] | None]:
    if path is None:
        yield None
        return
    try:
        with path.open("w", encoding="utf-8") as file:
            yield file
    except OSError as why:
        raise CommandFailed(f"The differences cannot be written to {path}: {why}") from why


def _rows(counts: Counter[Kind], scores: Scores) -> Iterator[Row]:
    for kind in Kind:
        more = scores.figures() if kind is Kind.ELSEWHERE else {}
        figures = {"instances": counts[kind], "of_instances": counts.total(), **more}
        yield Row(str(kind), counts[kind] / counts.total(), figures=figures)
