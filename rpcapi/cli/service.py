# SPDX-License-Identifier: Apache-2.0
"""``gantt service``: services, their liveness and last reports."""

import argparse
from collections.abc import Mapping
from typing import Any

from rpcapi.cli import partition
from rpcapi.cli.command import CommandOutput, Lister, offset_cell, timestamp_cell

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

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        rows = [
            (
                state.document.get("binary", ""),
                # Services without nodes are stored as binary@host.
                state.name.removeprefix(f"{state.document.get('binary', '')}@"),
                state_of(state.document),
                bool(state.document.get("enabled", True)),
                state.document.get("disabled_reason"),
                state.document.get("audited") if state.document.get("binary") == AGENT else None,
                timestamp_cell(state.document.get("last_report_ms")),
                offset_cell(state.document.get("clock_offset_ms")),
                state.partition,
            )
            for state in self.session.list_states("service", partition=parsed_args.partition)
        ]
        return COLUMNS, sorted(rows, key=lambda row: row[:2])


def state_of(document: Mapping[str, Any]) -> str:
    """Return up, down, or "too old" for an agent with an unsupported RPC version."""
    if not document.get("alive"):
        return "down"
    return "too old" if document.get("too_old") else "up"
