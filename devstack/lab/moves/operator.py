# SPDX-License-Identifier: Apache-2.0
"""Operators' commands in this process, because starting ``gantt`` takes longer than many moves."""

import argparse
import io
from collections.abc import Iterable
from typing import Any

from devstack.servers.process import poll
from rpcapi import errors
from rpcapi.admin.session import Session
from rpcapi.cli.audit import AuditCluster
from rpcapi.cli.command import CommandFailed, machine_value
from rpcapi.cli.host_control import FenceHost
from rpcapi.cli.host_moves import DrainHost, EvacuateHost

POLL_SECONDS = 0.5
FENCE_SECONDS = AUDIT_SECONDS = 180.0
AUDIT_PAUSE = "1"  # seconds between the two readings of an audit


class LabOperator:
    """Session that runs commands of ``gantt``; returned sentences say what a command left undone."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.stderr = io.StringIO()

    def connect(self) -> Session:
        return self.session

    def drain(self, host: str, parallel: int) -> list[str]:
        return _sentences(self._execute(DrainHost, host, "--parallel", str(parallel)))

    def evacuate(self, host: str) -> list[str]:
        return _sentences(self._execute(EvacuateHost, host))

    def fence(self, host: str) -> None:
        def is_fenced() -> bool:
            try:
                self._execute(FenceHost, host, "--yes")
            except errors.HostIsUp:
                return False
            return True

        if not poll(is_fenced, FENCE_SECONDS, POLL_SECONDS):
            raise CommandFailed(f"Host {host} still counts as up after {FENCE_SECONDS:g} s")

    def audit(self) -> list[str]:
        """Return one sentence per difference that outlasts the agents' cleanup."""
        rows: list[Any] = []

        def agree() -> bool:
            rows[:] = self._execute(AuditCluster, "--pause", AUDIT_PAUSE)
            return not rows

        poll(agree, AUDIT_SECONDS, POLL_SECONDS)
        return _sentences(rows)

    def _execute(self, command: Any, *arguments: str) -> list[Any]:
        self.session.new_request()
        instance = command(self, None)
        parser: argparse.ArgumentParser = instance.get_parser("gantt")
        output = instance.take_action(parser.parse_args(list(arguments)))
        return [] if output is None else list(output[1])


def _sentences(rows: Iterable[Iterable[Any]]) -> list[str]:
    return [": ".join(str(machine_value(cell)) for cell in row) for row in rows]
