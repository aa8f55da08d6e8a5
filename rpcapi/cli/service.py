# SPDX-License-Identifier: Apache-2.0
"""``gantt service``: services, their liveness and last reports."""

import argparse

from rpcapi.admin.services import AGENT, host_of, state_of
from rpcapi.cli import partition
from rpcapi.cli.command import CommandOutput, Lister, offset_cell, timestamp_cell

COLUMNS = (
    *("binary", "host", "state", "enabled", "disabled_reason", "audited"),
    *("last_report", "clock_offset", "partition"),
)


class ListServices(Lister):
    """List services: agents, schedulers and conductors."""

    ARGUMENTS = (partition.PARTITION_OPTION,)

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        rows = [
            (
                state.document.get("binary", ""),
                host_of(state.name, state.document),
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
