# SPDX-License-Identifier: Apache-2.0
"""``gantt service``: services, their liveness and last reports."""

import argparse
from typing import Any

from rpcapi.admin.service_states import AGENT, host_of, state_of
from rpcapi.cli import partition
from rpcapi.cli.command import CommandOutput, Lister, offset_cell, timestamp_cell

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
        states = self.session.list_states("service", partition=parsed_args.partition)
        return COLUMNS, sorted(map(_row, states), key=lambda row: row[:2])


def _row(state: Any) -> tuple[Any, ...]:
    document, binary = state.document, state.document.get("binary", "")
    return (
        binary,
        host_of(state.name, document),
        state_of(document),
        bool(document.get("enabled", True)),
        document.get("disabled_reason"),
        document.get("audited") if binary == AGENT else None,
        timestamp_cell(document.get("last_report_ms")),
        offset_cell(document.get("clock_offset_ms")),
        state.partition,
    )
