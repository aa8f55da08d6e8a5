# SPDX-License-Identifier: Apache-2.0
"""lab.sh history: ratios of saved runs from commit to commit."""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cliff import lister

from devstack.lab import benchmark, saved_runs
from devstack.lab.saved_runs import SavedRun
from rpcapi.cli.command import CommandFailed

COLUMNS = ("Benchmark", "Question", "Started", "Commit", "Machine", "Load", "Ratio", "Change", "Budget", "Kept")
COMMIT_DIGITS = 8
MAX_LINES = 12  # most lines that a plot can distinguish


@dataclass(frozen=True, slots=True)
class Point:
    run: SavedRun
    row: Mapping[str, Any]

    @property
    def commit(self) -> str:
        mark = "+" if self.run.commit.endswith("+") else ""
        return self.run.commit.rstrip("+")[:COMMIT_DIGITS] + mark

    @property
    def machine(self) -> str:
        return f"{self.run.machine.get('cores')} x {self.run.machine.get('processor')}"


class RunHistory(lister.Lister):
    """Show how the ratios of saved runs changed from one commit to the next.

    A benchmark saves its run with ``--save FOLDER``. A change is relative to the last earlier run with the same options
    on the same machine.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("folder", type=Path, help="The folder with the saved runs.")
        parser.add_argument("--benchmark", metavar="NAME", help="Runs of this command only, such as claim.")
        parser.add_argument("--question", metavar="TEXT", help="Rows whose question contains this text only.")
        parser.add_argument("--plot", type=Path, metavar="FILE.png", help="Also plot the ratios into this file.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], list[tuple[Any, ...]]]:
        figure = None if parsed_args.plot is None else benchmark.empty_figure(parsed_args.plot)
        lines = questions(saved_runs.read_all(parsed_args.folder), parsed_args.benchmark, parsed_args.question)
        if not lines:
            raise CommandFailed(f"No run in {parsed_args.folder} has such a row")
        if figure is not None:
            if len(lines) > MAX_LINES:
                raise CommandFailed(
                    f"A plot of {len(lines)} questions cannot be read, {MAX_LINES} are the most: name fewer with"
                    " --benchmark or --question"
                )
            draw(figure, lines)
            benchmark.save_figure(figure, parsed_args.plot)
        return COLUMNS, [cells for points in lines.values() for cells in _table(points)]


def questions(runs: Iterable[SavedRun], benchmark: str | None, text: str | None) -> dict[tuple[str, str], list[Point]]:
    lines: dict[tuple[str, str], list[Point]] = {}
    for run in runs:
        for row in run.rows:
            if benchmark in (None, run.command) and (text is None or text in row["name"]):
                lines.setdefault((run.command, row["name"]), []).append(Point(run, row))
    return dict(sorted(lines.items()))


def former(points: Sequence[Point], index: int) -> Point | None:
    """Return the last earlier point with the same options and machine."""
    point = points[index]
    for other in reversed(points[:index]):
        if other.run.options == point.run.options and other.machine == point.machine:
            return other
    return None


def draw(figure: Any, lines: Mapping[tuple[str, str], Sequence[Point]]) -> None:
    """Plot each question's ratios relative to its first ratio."""
    starts = sorted({point.run.started for points in lines.values() for point in points})
    labels = {point.run.started: point.commit for points in lines.values() for point in points}
    axes = figure.subplots()
    for (command, question), points in lines.items():
        first = points[0].row["ratio"] or 1.0
        positions = [starts.index(point.run.started) for point in points]
        axes.plot(positions, [point.row["ratio"] / first for point in points], "o-", label=f"{command}: {question}")
    axes.set_xticks(range(len(starts)), [labels[start] for start in starts], rotation=45, ha="right")
    axes.set(xlabel="commit", ylabel="ratio, beside that of the first run", title="History")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


def _table(points: Sequence[Point]) -> Iterable[tuple[Any, ...]]:
    for index, point in enumerate(points):
        before = former(points, index)
        ratio, budget = point.row["ratio"], point.row.get("budget")
        yield (
            point.run.command,
            point.row["name"],
            f"{point.run.started:%Y-%m-%d %H:%M}",
            point.commit,
            point.machine,
            point.run.machine.get("load_1min"),
            float(f"{ratio:.4g}"),
            f"{ratio / before.row['ratio'] - 1:+.1%}" if before and before.row["ratio"] else "-",
            "-" if budget is None else f"{point.row['bound']} {budget:g}",
            "-" if budget is None else "yes" if point.row["ok"] else "NO",
        )
