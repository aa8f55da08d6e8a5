# SPDX-License-Identifier: Apache-2.0
"""``gantt host``: nodes with what they hold, and their service hosts' enablement."""

import argparse
import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rpcapi import errors
from rpcapi.model import names
from rpcapi.shell import partition
from rpcapi.shell.columns import Fields, Lines, Moment, Text
from rpcapi.shell.command import Command, Lister, ShowOne
from rpcapi.shell.state_write import write

# In the list; `gantt host show` tells all classes.
LISTED = ("VCPU", "MEMORY_MB", "DISK_GB")
COLUMNS = (
    "name",
    "state",
    "enabled",
    "zone",
    *(f"{resource_class.lower()}_{what}" for resource_class in LISTED for what in ("free", "used")),
    "last_report",
    "partition",
)


def free_and_used(document: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Return {class: {"free", "used", "capacity"}} of a node's document."""
    used = document.get("used", {})
    return {
        resource_class: {
            "free": held["capacity"] - used.get(resource_class, 0),
            "used": used.get(resource_class, 0),
            "capacity": held["capacity"],
        }
        for resource_class, held in sorted(document["inventories"].items())
    }


class HostList(Lister):
    """List nodes: alive, enabled, and what is free and used."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--az", metavar="ZONE", help="Only nodes of this availability zone.")
        parser.add_argument("--down", action="store_true", help="Only nodes that cannot be chosen: down or disabled.")
        partition.add_option(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        listing, where = self.session.scheduler.list_host_state, parsed_args.partition
        services = {
            (state.partition, state.name): state.document
            for state in self.session.pages(listing, "states", "service", partition=where)
        }
        rows = []
        for state in self.session.pages(listing, "states", "compute", partition=where):
            if _is_child(state):
                continue
            service = services.get((state.partition, names.host_of(state.name)), {})
            fit = bool(service.get("alive") and service.get("enabled"))
            zone = state.document.get("availability_zone")
            if (parsed_args.az is None or zone == parsed_args.az) and not (parsed_args.down and fit):
                rows.append(_row(state, service))
        return COLUMNS, rows


def _row(state: Any, service: Mapping[str, Any]) -> tuple[Any, ...]:
    amounts = free_and_used(state.document)
    nothing = {"free": 0, "used": 0}
    return (
        state.name,
        "up" if service.get("alive") else "down",
        bool(service.get("enabled")),
        Text(state.document.get("availability_zone")),
        *(amounts.get(resource_class, nothing)[what] for resource_class in LISTED for what in ("free", "used")),
        Moment(service.get("last_report_ms")),
        Text(state.partition),
    )


class _Nodes(Lines):
    @staticmethod
    def line(item: Any) -> str:
        return f"{item['name']} [{item['zone'] or '-'}]: {_held(item)}"


class _Children(Lines):
    @staticmethod
    def line(item: Any) -> str:
        return f"{item['name']}: {_held(item)}"


class _Cells(Lines):
    @staticmethod
    def line(item: Any) -> str:
        pages = "".join(f", {used}/{total} pages of {size} kB" for size, (total, used) in item["pages"].items())
        return f"{item['id']}: pinned CPUs {item['pinned'] or '-'}, shared CPUs {item['shared'] or '-'}{pages}"


def _held(item: Mapping[str, Any]) -> str:
    resources = item["resources"].items()
    return ", ".join(f"{each['used']}/{each['capacity']} {resource_class}" for resource_class, each in resources)


class HostShow(ShowOne):
    """Show a service host, or one of its nodes, by namespace."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("name", help="A service host, or a node as host/node.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        name = names.canonical(parsed_args.name)
        host = names.host_of(name)
        service = self.session.ask(self.session.scheduler.get_host_state, "service", host)
        shown: dict[str, Any] = {
            "name": name,
            "partition": Text(service.partition),
            "binary": service.document.get("binary"),
            "state": "up" if service.document.get("alive") else "down",
            "enabled": bool(service.document.get("enabled")),
            "disabled_reason": Text(service.document.get("disabled_reason")),
            "audited": bool(service.document.get("audited")),
            "last_report": Moment(service.document.get("last_report_ms")),
            "service_version": service.version,
        }
        providers = list(self._providers(name))
        if name != host and not providers:
            raise errors.UnknownHost(name=name)
        nodes = [each for each in providers if not _is_child(each)] or providers[:1]
        if len(nodes) == 1:
            shown |= _one_node(nodes[0])
            if nodes[0].document.get("numa"):
                shown["numa_cells"] = _Cells(nodes[0].document["numa"])
        else:
            shown["nodes"] = _Nodes([_brief(node) for node in nodes])
        children = [each for each in providers if each not in nodes]
        if children:
            below = [{"name": each.name, "resources": free_and_used(each.document)} for each in children]
            shown["below"] = _Children(below)
        return tuple(shown), tuple(shown.values())

    def _providers(self, name: str) -> Iterator[Any]:
        """Yield the provider of that name, and all whose names are below it: they follow each other in the listing."""
        scheduler = self.session.scheduler
        with contextlib.suppress(errors.UnknownHost):
            yield self.session.ask(scheduler.get_host_state, "compute", name)
        below = f"{name}{names.SEPARATOR}"
        for state in self.session.pages(scheduler.list_host_state, "states", "compute", marker=below):
            if not state.name.startswith(below):
                return
            yield state


def _is_child(state: Any) -> bool:
    """Tell whether a provider is a part of a node: a cell, a function, a device."""
    return state.document.get("parent") is not None


def _one_node(state: Any) -> dict[str, Any]:
    document = state.document
    return {
        "node": state.name,
        "zone": Text(document.get("availability_zone")),
        "resources": _Resources(free_and_used(document)),
        "traits": Lines(document.get("traits", [])),
        "metrics": Fields(document.get("metrics", {})),
        "node_version": state.version,
    }


def _brief(state: Any) -> dict[str, Any]:
    zone = state.document.get("availability_zone")
    return {"name": state.name, "zone": zone, "resources": free_and_used(state.document)}


class _Resources(Fields):
    def human_readable(self) -> str:
        return "\n".join(
            f"{resource_class}: {each['free']} free, {each['used']} of {each['capacity']} used"
            for resource_class, each in self._value.items()
        )


class _SetEnabled(Command):
    enabled: bool

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("host", help="The service host; all its nodes follow.")
        return parser

    def set_enabled(self, name: str, reason: str | None) -> None:
        """Write the enablement; somebody else's change of it is no obstacle."""
        host = names.canonical(name)
        write(self.session, "service", host, {"enabled": self.enabled, "disabled_reason": reason})
        self.tell(f"{host} is {'enabled' if self.enabled else 'disabled'}")


class HostEnable(_SetEnabled):
    """Let new servers go to a host again."""

    enabled = True

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.set_enabled(parsed_args.host, None)


class HostDisable(_SetEnabled):
    """Send no new servers to a host; what runs there stays."""

    enabled = False

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--reason", required=True, help="Why, for whoever finds it disabled.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.set_enabled(parsed_args.host, parsed_args.reason)
