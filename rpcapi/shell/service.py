# SPDX-License-Identifier: Apache-2.0
"""``gantt service``: who reports to the scheduler, and since when no more."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from rpcapi.shell import partition
from rpcapi.shell.columns import Moment, Text
from rpcapi.shell.command import Lister

AGENT = "gantt-compute"
COLUMNS = ("binary", "host", "state", "enabled", "disabled_reason", "audited", "last_report", "partition")


class ServiceList(Lister):
    """List services: agents, schedulers and conductors."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        partition.add_option(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        listing = self.session.scheduler.list_host_state
        states = self.session.pages(listing, "states", "service", partition=parsed_args.partition)
        rows = [
            (
                state.document.get("binary", ""),
                _host(state),
                "up" if state.document.get("alive") else "down",
                bool(state.document.get("enabled", True)),
                Text(state.document.get("disabled_reason")),
                Text(state.document.get("audited") if _is_agent(state) else None),
                Moment(state.document.get("last_report_ms")),
                Text(state.partition),
            )
            for state in states
        ]
        return COLUMNS, sorted(rows, key=lambda row: row[:2])


def _is_agent(state: Any) -> bool:
    """Tell whether it is one of the services that hold claims, and so are audited."""
    return state.document.get("binary") == AGENT


def _host(state: Any) -> str:
    """Return the bare host: the scheduler knows a service without nodes as ``binary@host``."""
    return state.name.removeprefix(f"{state.document.get('binary', '')}@")
