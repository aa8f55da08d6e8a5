# SPDX-License-Identifier: Apache-2.0
"""``gantt host list`` and ``show``: nodes and their resources."""

import argparse
import contextlib
import functools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rpcapi import errors
from rpcapi.admin import Session, aggregates, api_providers
from rpcapi.admin.aggregates import ZonesByHost
from rpcapi.admin.argument import Argument
from rpcapi.admin.service_states import UP, agent_state_of
from rpcapi.cli import partition, provider_names
from rpcapi.cli.command import CommandOutput, Lister, ShowOne, fields_cell, lines_cell, timestamp_cell
from rpcapi.resources import names

# Resource classes in the list; `gantt host show` shows all.
LISTED = ("VCPU", "MEMORY_MB", "DISK_GB")
COLUMNS = (
    "name",
    "owner",
    "state",
    "enabled",
    "zone",
    *(f"{resource_class.lower()}_{key}" for resource_class in LISTED for key in ("free", "used")),
    "last_report",
    "partition",
)


def free_and_used(document: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    used = document.get("used", {})
    return {
        resource_class: {
            "free": inventory["capacity"] - used.get(resource_class, 0),
            "used": used.get(resource_class, 0),
            "capacity": inventory["capacity"],
        }
        for resource_class, inventory in sorted(document["inventories"].items())
    }


class ListHosts(Lister):
    """List nodes and the root providers of the Placement API: state, free and used resources."""

    ARGUMENTS = (
        Argument("--az", metavar="ZONE", help="Only nodes of this availability zone."),
        Argument(
            "--down",
            action="store_true",
            help="Only nodes that cannot be selected: down, disabled, too old or a duplicate identity.",
        ),
        partition.PARTITION_OPTION,
    )

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        partition_name = parsed_args.partition
        services = {
            (state.partition, state.name): state.document
            for state in self.session.list_states("service", partition=partition_name)
        }
        zones_by_host = _zones_by_host(self.session)
        states = list(self.session.list_states("compute", partition=partition_name))
        amounts = _amounts_by_tree(states)
        rows = []
        for state in states:
            if _is_child(state) or (parsed_args.down and api_providers.owner_of(state.name) == api_providers.API):
                continue  # a provider of the Placement API has no agent
            service = services.get((state.partition, names.host_of(state.name)), {})
            fit = agent_state_of(service) == UP and is_enabled(service)
            zones = zones_by_host.of(state.name, state.document)
            if (parsed_args.az is None or parsed_args.az in zones) and not (parsed_args.down and fit):
                rows.append(_row(state, service, zones, amounts[state.partition, state.name]))
        return COLUMNS, rows


def _zones_by_host(session: Session) -> ZonesByHost:
    return ZonesByHost(state.document for state in session.list_states(aggregates.NAMESPACE))


def _join(zones: Sequence[str]) -> str | None:
    return ", ".join(zones) or None


def is_enabled(service: Mapping[str, Any]) -> bool:
    return bool(service.get("enabled")) and not service.get("refusal")


def _amounts_by_tree(states: Iterable[Any]) -> dict[tuple[str, str], Counter[tuple[str, str]]]:
    """Return {(partition, root): {(resource class, "free" or "used"): amount}}."""
    amounts: dict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
    for state in states:
        tree = amounts[state.partition, state.document.get("root") or state.name]
        for resource_class, figures in free_and_used(state.document).items():
            tree.update({(resource_class, key): amount for key, amount in figures.items()})
    return amounts


def _row(
    state: Any, service: Mapping[str, Any], zones: Sequence[str], amounts: Counter[tuple[str, str]]
) -> tuple[Any, ...]:
    owner = api_providers.owner_of(state.name)
    has_agent = owner == api_providers.AGENT
    return (
        api_providers.name_of(state.document) or state.name,
        owner,
        agent_state_of(service) if has_agent else None,
        is_enabled(service) if has_agent else None,
        _join(zones),
        *(amounts[resource_class, key] for resource_class in LISTED for key in ("free", "used")),
        timestamp_cell(service.get("last_report_ms")),
        state.partition,
    )


def _format_provider(item: Mapping[str, Any]) -> str:
    zone = f" [{item['zone'] or '-'}]" if "zone" in item else ""  # Only nodes have a zone.
    resources = item["resources"].items()
    usage = (f"{amounts['used']}/{amounts['capacity']} {resource_class}" for resource_class, amounts in resources)
    return f"{item['name']}{zone}: {', '.join(usage)}"


def _format_numa_cell(item: Any) -> str:
    pages = "".join(f", {used}/{total} pages of {size} kB" for size, (total, used) in item["pages"].items())
    return f"{item['id']}: pinned CPUs {item['pinned'] or '-'}, shared CPUs {item['shared'] or '-'}{pages}"


class ShowHost(ShowOne):
    """Show a service host, one of its nodes, or a provider of the Placement API."""

    ARGUMENTS = (
        Argument("name", help="Service host, node as host/node, or name or UUID of a Placement API provider."),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        try:
            fields = self._host_fields(names.canonical(parsed_args.name))
        except (errors.UnknownHost, errors.InvalidName):
            state = api_providers.find(self.session, parsed_args.name)
            if state is None:
                raise
            fields = self._provider_fields(state)
        return self.dict2columns(fields)

    def _provider_fields(self, state: Any) -> dict[str, Any]:
        document = state.document
        fields = {
            "name": api_providers.name_of(document),
            "owner": api_providers.API,
            "uuid": state.name.removeprefix(names.api_provider("")),
            "partition": state.partition,
            "parent": document.get("parent"),
            "zone": self._zone(state),
            "resources": fields_cell(free_and_used(document), _format_resource),
            "traits": lines_cell(document.get("traits", [])),
            "aggregates": lines_cell(document.get("aggregates", [])),
            "version": state.version,
        }
        tree = {child.name: child for child in api_providers.in_tree(self.session, document["root"])}
        below = [child for child in tree.values() if _is_below(child, state.name, tree)]
        if below:
            fields["below"] = lines_cell([_child_summary(child) for child in below], _format_provider)
        return provider_names.show_names(self.session, fields)

    def _host_fields(self, name: str) -> dict[str, Any]:
        host = names.host_of(name)
        service = self.session.get_state("service", host)
        fields: dict[str, Any] = {
            "name": name,
            "owner": api_providers.AGENT,
            "partition": service.partition,
            "binary": service.document.get("binary"),
            "state": agent_state_of(service.document),
            "enabled": is_enabled(service.document),
            "disabled_reason": service.document.get("disabled_reason") or service.document.get("refusal"),
            "host_uuid": service.document.get("host_uuid"),
            "audited": bool(service.document.get("audited")),
            "last_report": timestamp_cell(service.document.get("last_report_ms")),
            "service_version": service.version,
        }
        providers = list(self._providers(name))
        if name != host and not providers:
            raise errors.UnknownHost(name=name)
        nodes = [provider for provider in providers if not _is_child(provider)] or providers[:1]
        if len(nodes) == 1:
            fields |= _node_fields(nodes[0], self._zone(nodes[0]))
            if nodes[0].document.get("numa"):
                fields["numa_cells"] = lines_cell(nodes[0].document["numa"], _format_numa_cell)
        else:
            fields["nodes"] = lines_cell([_node_summary(node, self._zone(node)) for node in nodes], _format_provider)
        children = [provider for provider in providers if provider not in nodes]
        children += [child for node in nodes for child in api_providers.in_tree(self.session, node.name)]
        if children:
            fields["below"] = lines_cell([_child_summary(child) for child in children], _format_provider)
        return fields

    @functools.cached_property
    def _zones_by_host(self) -> ZonesByHost:
        return _zones_by_host(self.session)

    def _zone(self, state: Any) -> str | None:
        return _join(self._zones_by_host.of(state.name, state.document))

    def _providers(self, name: str) -> Iterator[Any]:
        """Yield a provider and its descendants, which follow it in the listing."""
        with contextlib.suppress(errors.UnknownHost):
            yield self.session.get_state("compute", name)
        prefix = f"{name}{names.SEPARATOR}"
        for state in self.session.list_states("compute", marker=prefix):
            if not state.name.startswith(prefix):
                return
            yield state


def _is_child(state: Any) -> bool:
    return state.document.get("parent") is not None


def _is_below(state: Any, provider: str, tree: Mapping[str, Any]) -> bool:
    while state is not None and state.document["parent"] != provider:
        state = tree.get(state.document["parent"])
    return state is not None


def _node_fields(state: Any, zone: str | None) -> dict[str, Any]:
    document = state.document
    return {
        "node": state.name,
        "zone": zone,
        "resources": fields_cell(free_and_used(document), _format_resource),
        "traits": lines_cell(document.get("traits", [])),
        "metrics": fields_cell(document.get("metrics", {})),
        "node_version": state.version,
    }


def _child_summary(state: Any) -> dict[str, Any]:
    name = api_providers.name_of(state.document) or state.name
    return {"name": name, "owner": api_providers.owner_of(state.name), "resources": free_and_used(state.document)}


def _node_summary(state: Any, zone: str | None) -> dict[str, Any]:
    return {"name": state.name, "zone": zone, "resources": free_and_used(state.document)}


def _format_resource(resource_class: str, amounts: Mapping[str, int]) -> str:
    return f"{resource_class}: {amounts['free']} free, {amounts['used']} of {amounts['capacity']} used"
