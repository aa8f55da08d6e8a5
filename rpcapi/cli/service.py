# SPDX-License-Identifier: Apache-2.0
"""``gantt service``: services, their liveness and last reports."""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rpcapi.cli import partition
from rpcapi.cli.cells import offset_cell, timestamp_cell
from rpcapi.cli.command import Lister

AGENT = "gantt-compute"
COLUMNS = (
    "binary",
    "host",
    "state",
    "enabled",
    "disabled_reason",
    "audited",
    "last_report",
    "clock_offset",
    "partition",
)


class ListServices(Lister):
    """List services: agents, schedulers and conductors."""

    ARGUMENTS = (partition.PARTITION_OPTION,)

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        listing = self.session.scheduler.list_host_state
        states = self.session.list_all(listing, "states", "service", partition=parsed_args.partition)
        rows = [
            (
                state.document.get("binary", ""),
                _host(state),
                state_of(state.document),
                bool(state.document.get("enabled", True)),
                state.document.get("disabled_reason"),
                state.document.get("audited") if _is_agent(state) else None,
                timestamp_cell(state.document.get("last_report_ms")),
                offset_cell(state.document.get("clock_offset_ms")),
                state.partition,
            )
            for state in states
        ]
        return COLUMNS, sorted(rows, key=lambda row: row[:2])


def state_of(document: Mapping[str, Any]) -> str:
    """Return up, down, or "too old" for an agent with an unsupported RPC version."""
    if not document.get("alive"):
        return "down"
    return "too old" if document.get("too_old") else "up"


def _is_agent(state: Any) -> bool:
    """Return whether the service is an agent, which has claims and is audited."""
    return bool(state.document.get("binary") == AGENT)


def _host(state: Any) -> str:
    """Return the bare host name: the scheduler stores a service without nodes as ``binary@host``."""
    return str(state.name).removeprefix(f"{state.document.get('binary', '')}@")
