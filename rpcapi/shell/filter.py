# SPDX-License-Identifier: Apache-2.0
"""``gantt filter`` and ``gantt weigher``: what a scheduler worker decides by, and what it costs."""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from rpcapi.shell.columns import Lines, Text
from rpcapi.shell.command import Lister

COLUMNS = (
    *("name", "form", "source", "enabled", "reads"),
    *("calls", "errors", "mean_us", "hosts", "us_per_host", "last_error"),
)


class _Reads(Lines):
    @staticmethod
    def line(item: Any) -> str:
        namespace, keys = item
        return f"{namespace}: {', '.join(keys)}"


class _List(Lister):
    kind: ClassVar[str]

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--all", action="store_true", help="Those that are not enabled too.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        found = self.session.ask(self.session.scheduler.list_filters, self.kind)
        self.tell(f"As worker {found.worker} has counted since its start; others count for themselves")
        each = zip(*(getattr(found, name) for name in found.COLUMNS), strict=True)
        rows = [dict(zip(found.COLUMNS, values, strict=True)) for values in each]
        return COLUMNS, [_row(one) for one in rows if one["enabled"] or parsed_args.all]


def _row(one: Mapping[str, Any]) -> tuple[Any, ...]:
    calls, hosts, micros = one["calls"], one["hosts"], 1e6 * one["seconds"]
    return (
        one["names"],
        Text(one["forms"]),
        one["sources"],
        one["enabled"],
        _Reads(list(one["reads"].items())),
        calls,
        one["errors"],
        Text(round(micros / calls, 1) if calls else None),
        hosts,
        Text(round(micros / hosts, 3) if hosts else None),
        Text(one["last_errors"]),
    )


class FilterList(_List):
    """List the filters that hosts must pass, in their order: whose they are, what they read, what they cost.

    Those of gantt are measured in one decision of some, those from outside in each: calls counts what was measured.
    """

    kind = "filter"


class WeigherList(_List):
    """List the weighers that make up a host's score: whose they are, what they read, what they cost.

    Those of gantt are measured in one decision of some, those from outside in each: calls counts what was measured.
    """

    kind = "weigher"
