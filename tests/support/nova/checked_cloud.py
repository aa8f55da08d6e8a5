# SPDX-License-Identifier: Apache-2.0
"""A Nova cloud that tests change, switch and compare with its records."""

import collections
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import requests

from devstack import confs
from devstack.deploy.users.folder import write_private
from devstack.nova import roles
from devstack.nova.cloud import STOP_SECONDS, NovaCloud
from devstack.nova.roles import Daemon
from devstack.nova.size import CloudSize
from devstack.servers.process import ServerProcess, stop_together
from tests.support.nova import comparison

METRICS_SECONDS = 10.0
GUESTS = "guests"  # folder of a simulated hypervisor's guests, in the state folder of its host


DRIVERS = Path(__file__).parents[2] / "nova" / "inside" / "drivers"
FAULTY = {"DEFAULT": {"compute_driver": "faulty.FaultyDriver"}}


class CheckedCloud(NovaCloud):
    """Cloud whose computes fail as servers' metadata says, unless ``size`` names another driver."""

    def __init__(self, folder: Path, size: CloudSize, ports: Mapping[str, int] | None = None) -> None:
        driver = {"DEFAULT": {**FAULTY["DEFAULT"], **size.nova_options.get("DEFAULT", {})}}
        super().__init__(folder, replace(size, nova_options={**size.nova_options, **driver}), ports)

    def spawn(self, daemon: Daemon) -> ServerProcess:
        return super().spawn(replace(daemon, env={**daemon.env, "NOVA_DRIVERS": str(DRIVERS)}))

    def stop_role(self, role: str) -> None:
        stop_together([self.process(daemon.name) for daemon in roles.served_by(self.parts, role)], STOP_SECONDS)

    def start_role(self, role: str, choice: str) -> None:
        """Start a stopped role with the daemons of ``choice``, and wait until those with a port answer."""
        self.size = CloudSize(**{**asdict(self.size), role: choice})
        self.__dict__.pop("parts", None)
        self.layout.write_cluster_record({"size": asdict(self.size), "ports": self.ports})
        self.wait_for_ports([(daemon, self.spawn(daemon)) for daemon in roles.served_by(self.parts, role)])

    def add_compute(self, host: str) -> None:
        count = self.placement.count_computes()
        self.spawn(roles.compute(self.parts, host))
        self.wait_for_computes(count + 1)

    def gantt(self, *arguments: str, statuses: Sequence[int] = (0,)) -> str:
        conf = self.parts.etc / "gantt.conf"
        options = {"DEFAULT": {"transport_url": self.parts.urls.gantt_bus}, "rpc": {"partition": confs.PARTITION}}
        write_private(conf, confs.text(options))
        return self.run([*roles.gantt_program("gantt", conf), *arguments], roles.SOURCE_TREE, statuses)

    def placement_import(self, *arguments: str) -> str:
        program = roles.gantt_program("gantt-placement-import", roles.placement_conf(self.parts))
        return self.run([*program, str(roles.openstack_conf(self.parts)), *arguments], roles.SOURCE_TREE, (0,))

    def metric(self, name: str) -> float:
        """Return a metric of gantt-scheduler, given as a name with labels; 0 if it is absent."""
        page = requests.get(self.url("metrics"), timeout=METRICS_SECONDS).text
        values = [line.rpartition(" ")[2] for line in page.splitlines() if line.startswith(f"{name} ")]
        return float(values[0]) if values else 0.0

    def guests(self) -> dict[str, list[str]]:
        """Return {server: hosts whose hypervisors have a guest of it}."""
        hosts = collections.defaultdict(list)
        for path in sorted(self.layout.state.glob(f"*/{GUESTS}/*")):
            hosts[path.name].append(path.parents[1].name)
        return dict(hosts)

    def inconsistencies(self) -> list[str]:
        """Return one sentence per difference of allocations, usages, gantt's claims, or guests of running computes."""
        allocations = comparison.provider_allocations(self.placement)
        sentences = [*self.differences(), *comparison.usage_differences(self.placement, allocations)]
        if self.size.placement == "gantt":
            with contextlib.closing(self.open_store()) as store:
                sentences += comparison.claim_differences(store, allocations)
        hosts = [host for host in self.size.hosts if self._lists_guests(host)]
        return sentences + comparison.guest_differences(self.guests(), comparison.guests(*self.cell_databases), hosts)

    def _lists_guests(self, host: str) -> bool:
        return self.process(host).pid is not None and (self.layout.state / host / GUESTS).is_dir()
