# SPDX-License-Identifier: Apache-2.0
"""Node shapes, from the configuration groups [shape:NAME]."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from oslo_config import cfg

from compute_agent.conf import shape as shape_conf
from compute_agent.resources.kinds import flat, loading
from compute_agent.resources.kinds.kind import NodeProvider
from compute_agent.resources.kinds.loading import LoadedKind
from rpcapi import errors
from rpcapi.resources.inventory import Inventory


@dataclass(frozen=True, slots=True)
class NodeShape:
    """Inventories, traits and facts shared by all nodes of a shape.

    Attributes:
        inventories, traits: Inventories and traits of the node's own provider.
        child_providers: Descendants of the node, parents first.
        kinds: Resource kinds that assign these resources.
        facts: Rarely changing facts for reports.
        kind: "compute", "volume" or "network".
    """

    name: str
    inventories: Mapping[str, Inventory]
    traits: tuple[str, ...] = ()
    availability_zone: str | None = None
    share: int = 1
    child_providers: tuple[NodeProvider, ...] = ()
    kinds: tuple[LoadedKind, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "compute"


def from_conf(conf: cfg.ConfigOpts) -> list[NodeShape]:
    """Return the shapes of the groups [shape:NAME]; raises BadConfiguration."""
    groups = shape_conf.register_opts(conf)
    if not groups:
        # Without a configured shape, use the options' defaults.
        groups = [f"{shape_conf.PREFIX}default"]
        conf.register_opts(shape_conf.OPTS, group=groups[0])
    try:
        return [_shape(conf, group) for group in groups]
    except (cfg.Error, ValueError) as error:
        # These options are registered only after the files are read, so they were not checked before.
        raise errors.BadConfiguration(why=f"one of {', '.join(groups)}: {error}") from error


def _shape(conf: cfg.ConfigOpts, group: str) -> NodeShape:
    values = conf[group]
    kinds = tuple(loading.load_kinds(conf, group))
    node = NodeProvider("", {}, flat.traits(group, values.traits))
    root, *children = _merge_providers([node, *(provider for kind in kinds for provider in kind.providers)])
    return NodeShape(
        group.removeprefix(shape_conf.PREFIX),
        root.inventories,
        root.traits,
        values.availability_zone,
        values.share,
        tuple(children),
        kinds,
        _facts(group, values),
        values.kind,
    )


def _merge_providers(parts: Iterable[NodeProvider]) -> list[NodeProvider]:
    """Merge providers with the same path and sort parents before children; raises ValueError for an orphan."""
    merged: dict[str, NodeProvider] = {}
    for provider in parts:
        previous = merged.get(provider.path, NodeProvider(provider.path, parent=provider.parent))
        traits = tuple(sorted({*previous.traits, *provider.traits}))
        merged[provider.path] = NodeProvider(
            provider.path, {**previous.inventories, **provider.inventories}, traits, previous.parent
        )
    ordered = [merged.pop("")]
    while merged:
        ordered_paths = {provider.path for provider in ordered}
        ready = [provider for provider in merged.values() if provider.parent in ordered_paths]
        if not ready:
            raise ValueError(f"provider {next(iter(merged))} has a missing parent, or is its own ancestor")
        ordered += ready
        for provider in ready:
            del merged[provider.path]
    return ordered


def _facts(group: str, values: cfg.ConfigOpts.GroupAttr) -> dict[str, Any]:
    instances = [item.split(":") for item in values.supported_instances]
    if any(len(item) != 3 for item in instances):
        raise errors.BadConfiguration(
            why=f"[{group}] supported_instances: each item must be ARCHITECTURE:HYPERVISOR:MODE, such as x86_64:kvm:hvm"
        )
    facts = {
        "hypervisor_type": values.hypervisor_type,
        "hypervisor_version": values.hypervisor_version,
        "supported_instances": instances,
        "cpu_info": dict(values.cpu_info),
    }
    return {name: value for name, value in facts.items() if value}
