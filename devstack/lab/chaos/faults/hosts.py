# SPDX-License-Identifier: Apache-2.0
"""Hosts that lose their power until an operator has fenced them and evacuated their servers."""

import contextlib
import time
from collections.abc import Sequence

from devstack.lab.chaos import stored_state
from devstack.lab.chaos.changes import CHANGES
from devstack.lab.chaos.faults.fault import DaemonFault, Fault
from devstack.lab.chaos.history import HistoryWriter
from devstack.lab.chaos.load import NO_ANSWER, PAUSE, HistoryCaller, make_uuid
from rpcapi import errors
from rpcapi.resources import names

FENCE_SECONDS = 60.0


class HostsLost(DaemonFault):
    """Power loss of an agent's machines, which lose their guests and return after the evacuation."""

    KIND = "hosts lost and evacuated"
    PROGRAM = "compute"
    HOLD = (9.0, 11.0)  # until the hosts count as down, and after other faults, during which the fence would be refused

    def inject(self) -> str:
        folders = stored_state.host_folders(self.cluster.state_folder(self.name))
        self.lost_hosts = [stored_state.host_name(folder) for folder in folders]
        self.cluster.without_power.add(self.name)
        self.cluster.kill_daemon(self.name)
        for path in self.cluster.state_folder(self.name).glob("*/guests/*.json"):
            path.unlink()
        return self.name

    def heal(self) -> bool:
        try:
            with (
                contextlib.closing(HistoryWriter(self.cluster.history_file)) as history,
                contextlib.closing(HistoryCaller(self.cluster.client_conf, history)) as operator,
            ):
                fenced = [host for host in self.lost_hosts if self._fence(operator, host)]
                for uuid in self._servers_on(operator, fenced):
                    operator.change("evacuate", [uuid], lambda: False, {uuid: make_uuid(self.chance)})
        finally:
            self.cluster.without_power.discard(self.name)
            self.cluster.revive()
        return fenced == self.lost_hosts

    def _fence(self, operator: HistoryCaller, host: str) -> bool:
        claims, token = operator.session.claims_of(self.cluster.partition_of(self.name)), make_uuid(self.chance)
        deadline = time.monotonic() + FENCE_SECONDS
        while time.monotonic() < deadline:
            try:
                operator.session.call(claims.fence_host, host, token)
            except (*NO_ANSWER, errors.GanttError):  # the host is not down yet, or the store is not back
                time.sleep(PAUSE)
            else:
                return True
        return False

    def _servers_on(self, operator: HistoryCaller, hosts: Sequence[str]) -> list[str]:
        conductor = operator.session.conductor
        return [
            server.uuid
            for server in operator.session.list_all(conductor.list_instances, "instances")
            if server.host and names.host_of(server.host) in hosts and server.status in CHANGES["evacuate"].begins
        ]


FAULTS: tuple[type[Fault], ...] = (HostsLost,)
