# SPDX-License-Identifier: Apache-2.0
"""``gantt filter`` and ``gantt weigher``: filters and weighers of a scheduler worker, and their costs."""

import argparse
from collections.abc import Mapping
from typing import Any, ClassVar

from rpcapi.admin.argument import Argument
from rpcapi.cli.command import CommandOutput, Lister, lines_cell

COLUMNS = (
    "name",
    "form",
    "source",
    "enabled",
    "reads",
    "calls",
    "errors",
    "mean_us",
    "hosts",
    "us_per_host",
    "last_error",
)


def _format_reads(item: Any) -> str:
    namespace, keys = item
    return f"{namespace}: {', '.join(keys)}"


class _ListFunctions(Lister):
    kind: ClassVar[str]

    ARGUMENTS = (Argument("--all", action="store_true", help="Include disabled ones."),)

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        reply = self.session.call(self.session.scheduler.list_filters, self.kind)
        self.show_message(f"Measured by worker {reply.worker} since its start; other workers measure separately")
        names = [name for name in reply.fields if name != "worker"]
        rows = [dict(zip(names, values, strict=True)) for values in reply.rows(*names)]
        return COLUMNS, [_row(row) for row in rows if row["enabled"] or parsed_args.all]


def _row(row: Mapping[str, Any]) -> tuple[Any, ...]:
    calls, hosts, micros = row["calls"], row["hosts"], 1e6 * row["seconds"]
    return (
        row["names"],
        row["forms"],
        row["sources"],
        row["enabled"],
        lines_cell(list(row["reads"].items()), _format_reads),
        calls,
        row["errors"],
        round(micros / calls, 1) if calls else None,
        hosts,
        round(micros / hosts, 3) if hosts else None,
        row["last_errors"],
    )


class ListFilters(_ListFunctions):
    """List the filters that hosts must pass, in order: source, data read, and cost.

    Plugins are measured in every decision, built-in filters in a sample; calls counts the measured calls.
    """

    kind = "filter"


class ListWeighers(_ListFunctions):
    """List the weighers of a host's score: source, data read, and cost.

    Plugins are measured in every decision, built-in weighers in a sample; calls counts the measured calls.
    """

    kind = "weigher"
