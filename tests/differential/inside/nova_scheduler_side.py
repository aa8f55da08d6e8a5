# SPDX-License-Identifier: Apache-2.0
"""Nova's scheduler, its databases and OpenStack Placement in one process.

Instances are not in a database, nor ports in Neutron. Among equally good hosts Nova may take any; here it takes the
one that the caller prefers. For further instances of a request the preferred host only has to pass; the recorded
rounds show which was the best.
"""

import math
import os
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

os.environ["OS_NOVA_DISABLE_EVENTLET_PATCHING"] = "1"

from nova import context, objects, rpc
from nova.conf import CONF
from nova.objects import base
from nova.pci import stats
from nova.scheduler import host_manager, manager, request_filter, utils
from nova.scheduler.client import report
from nova_databases import SECONDS_DOWN, NovaDatabases
from nova_specs_side import make_spec
from peer_wire import serve
from placement_adapter import PlacementAdapter
from placement_side import CONFIGURATION, deployed

LOCAL_PORT, REMOTE_PORT = (str(uuid.UUID(int=number)) for number in (11, 12))
NEAR = 1e-6  # weights that differ by less are equal


class RecordingHostManager(host_manager.HostManager):
    """Nova's, with the instances of hosts from a mapping; it records the weights of each round.

    ``preferred`` are for each round the hosts, as triples with their nodes and allocation requests, the first one to be
    taken. Of several candidates of a host Nova takes the one that is preferred, if it has it.
    """

    def __init__(self, instances: Mapping[str, Sequence[str]]) -> None:
        self._instances = instances
        self.preferred: Sequence[Sequence[Sequence[Any]]] = ()
        self.rounds: list[list[list[Any]]] = []
        super().__init__()

    def _init_instance_info(self, computes_by_cell: Any = None) -> None:
        """Nothing is read before a request."""

    def _get_instance_info(self, context: Any, compute: Any) -> Mapping[str, Any]:
        return {name: objects.Instance(uuid=name) for name in self._instances.get(compute.host, ())}

    def get_weighed_hosts(self, hosts: Any, spec_obj: Any) -> Any:
        weighed = super().get_weighed_hosts(hosts, spec_obj)
        number = len(self.rounds)
        self.rounds.append([[item.obj.host, item.obj.nodename, item.weight] for item in weighed])
        _put_first(weighed, self.preferred[number : number + 1] or self.preferred)
        if number < len(self.preferred):
            target = tuple(self.preferred[number][0][:2])
            least = weighed[0].weight - NEAR if weighed and not number else -math.inf
            best = [item for item in weighed if item.weight >= least]
            best.sort(key=lambda item: (item.obj.host, item.obj.nodename) != target)
            weighed = best + weighed[len(best) :]
        return weighed


def _put_first(weighed: Sequence[Any], rows: Sequence[Sequence[Sequence[Any]]]) -> None:
    """Put the preferred one of the allocation candidates of each host first."""
    preferred = {(host, node): _comparable(request) for row in rows for host, node, request in row if request}
    for item in weighed:
        request = preferred.get((item.obj.host, item.obj.nodename))
        if request is not None and item.obj.allocation_candidates:
            item.obj.allocation_candidates.sort(key=lambda candidate: _comparable(candidate) != request)


def _comparable(request: Mapping[str, Any]) -> Any:
    mappings = {group: sorted(providers) for group, providers in request["mappings"].items()}
    return request["allocations"], mappings


class LabSchedulerManager(manager.SchedulerManager):
    """Nova's, with a client of the Placement in this process."""

    def __init__(self, hosts: RecordingHostManager, placement: Any) -> None:
        self._placement = placement
        self.host_manager = hosts
        self.notifier = rpc.get_notifier("scheduler")

    @property
    def placement_client(self) -> Any:
        """The client."""
        return self._placement


class PortsOfRequests:
    """What Neutron knows of the ports of requests."""

    def is_remote_managed_port(self, context: Any, port_id: str) -> bool:
        """Return whether the port's VNIC is managed remotely."""
        return port_id == REMOTE_PORT


def _consume_no_device(*arguments: Any) -> None:
    """Leave the pools as they are: without PciPassthroughFilter a selected host may have no such device."""


class RecordedNovaScheduler:
    """The peer's verbs."""

    def __init__(self, folder: Path) -> None:
        CONF([], project="nova", default_config_files=[])
        CONF.set_override("service_down_time", SECONDS_DOWN)
        objects.register_all()
        rpc.set_defaults("nova")
        rpc.init(CONF)
        request_filter.neutron.API = PortsOfRequests
        stats.PciDeviceStats.apply_requests = _consume_no_device
        self._databases = NovaDatabases(folder)
        conf_file = folder / "placement.conf"
        conf_file.write_text(CONFIGURATION.format(connection=f"sqlite:///{folder}/placement.sqlite"))
        self._adapter = PlacementAdapter(deployed(conf_file, upgrade=True))
        self._report = report.SchedulerReportClient(self._adapter)
        self._overridden: list[tuple[str, str]] = []

    def place(self, calls: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Send requests, (method, path, body) each, to Placement; return status and body of the answers."""
        answers = [self._adapter.send(method, path, json=body, microversion="1.39") for method, path, body in calls]
        return [[answer.status_code, answer.text] for answer in answers]

    def load(self, cloud: Mapping[str, Any], settings: Mapping[str, Mapping[str, Any]]) -> str:
        """Replace cloud and settings; return the URL of the API database, from which all others follow."""
        self._databases.write(cloud)
        for group, option in self._overridden:
            CONF.clear_override(option, group=None if group == "DEFAULT" else group)
        self._overridden = [(group, option) for group, options in settings.items() for option in options]
        for group, option in self._overridden:
            CONF.set_override(option, settings[group][option], group=None if group == "DEFAULT" else group)
        self._hosts = RecordingHostManager(cloud["instances"])
        self._manager = LabSchedulerManager(self._hosts, self._report)
        return self._databases.api_url

    def spec(self, fields: Mapping[str, Any]) -> Any:
        """Return the primitive of a RequestSpec."""
        spec = make_spec(**fields)
        if fields["remote_managed"] is not None:
            port = objects.NetworkRequest(port_id=REMOTE_PORT if fields["remote_managed"] else LOCAL_PORT)
            spec.requested_networks = objects.NetworkRequestList(objects=[port])
        destination = spec.requested_destination if "requested_destination" in spec else None
        if destination is None:
            spec.requested_destination = None
        elif "cell" in destination and destination.cell is not None:
            ctxt = context.get_admin_context()
            destination.cell = objects.CellMapping.get_by_uuid(ctxt, destination.cell.uuid)
        return base.NovaObjectSerializer().serialize_entity(None, spec)

    def select(
        self, primitive: Any, uuids: Sequence[str], preferred: Sequence[Sequence[Sequence[Any]]], *, alternates: bool
    ) -> Mapping[str, Any]:
        """Return the Selections of each instance, or the exception; and the weights of each round, by host and node."""
        spec = base.NovaObject.obj_from_primitive(primitive)
        ctxt = context.RequestContext(user_id="u", project_id="p", is_admin=True)
        spec._context = ctxt
        self._hosts.preferred, self._hosts.rounds = preferred, []
        try:
            rows = self._manager.select_destinations(
                ctxt, spec_obj=spec, instance_uuids=list(uuids), return_objects=True, return_alternates=alternates
            )
        except Exception as why:  # what the caller would get
            error = why.exc_info[1] if hasattr(why, "exc_info") else why
            return {"raised": type(error).__name__, "text": str(error), "rounds": self._hosts.rounds}
        serializer = base.NovaObjectSerializer()
        primitives = [[serializer.serialize_entity(None, selection) for selection in row] for row in rows]
        return {"rows": primitives, "rounds": self._hosts.rounds}

    def providers(self, primitive: Any, selections: Sequence[Any]) -> list[Mapping[str, Sequence[str]]]:
        """Return for each Selection the providers of the requested groups, as Nova's services read them from it."""
        mappings: list[Mapping[str, Sequence[str]]] = []
        for selection in selections:
            spec = base.NovaObject.obj_from_primitive(primitive)
            utils.fill_provider_mapping(spec, base.NovaObject.obj_from_primitive(selection))
            mappings.append({group.requester_id: group.provider_uuids for group in spec.requested_resources})
        return mappings


if __name__ == "__main__":
    scheduler = RecordedNovaScheduler(Path(sys.argv[-1]))
    serve({name: getattr(scheduler, name) for name in ("place", "load", "spec", "select", "providers")})
