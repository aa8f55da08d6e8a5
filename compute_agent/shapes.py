# SPDX-License-Identifier: Apache-2.0
"""The kinds of nodes that a configuration describes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from oslo_config import cfg

from compute_agent.conf import shape as shape_conf
from compute_agent.kinds import flat, loading
from compute_agent.kinds.kind import Below
from compute_agent.kinds.loading import Loaded
from rpcapi import errors
from rpcapi.model.inventory import Inventory


@dataclass(frozen=True, slots=True)
class Shape:
    """What the nodes of one kind are like; shared by all of them.

    ``inventories`` and ``traits`` are the node's own, ``below`` what hangs below it, parents first; ``kinds`` hand all
    of that out. ``facts`` is what changes rarely, ``kind`` whose resource a node is.
    """

    name: str
    inventories: Mapping[str, Inventory]
    traits: tuple[str, ...] = ()
    availability_zone: str | None = None
    share: int = 1
    below: tuple[Below, ...] = ()
    kinds: tuple[Loaded, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "compute"


def from_conf(conf: cfg.ConfigOpts) -> list[Shape]:
    """Return the shapes of the groups [shape:NAME]; raises BadConfiguration."""
    groups = shape_conf.register_opts(conf)
    if not groups:
        # Nothing is configured: the options' defaults are a shape too.
        groups = [f"{shape_conf.PREFIX}default"]
        conf.register_opts(shape_conf.OPTS, group=groups[0])
    try:
        return [_shape(conf, group) for group in groups]
    except (cfg.Error, ValueError) as error:
        # These options are known only once the files are read, so the frame has not checked them.
        raise errors.BadConfiguration(why=f"one of {', '.join(groups)}: {error}") from error


def _shape(conf: cfg.ConfigOpts, group: str) -> Shape:
    values = conf[group]
    kinds = tuple(loading.load(conf, group))
    node = Below("", {}, flat.traits(group, values.traits))
    own, *below = _merged([node, *(each for loaded in kinds for each in loaded.below)])
    return Shape(
        group.removeprefix(shape_conf.PREFIX),
        own.inventories,
        own.traits,
        values.availability_zone,
        values.share,
        tuple(below),
        kinds,
        _facts(group, values),
        values.kind,
    )


def _merged(parts: Iterable[Below]) -> list[Below]:
    """Return one provider a path, with what all say of it, parents before children; raises ValueError for an orphan."""
    found: dict[str, Below] = {}
    for each in parts:
        before = found.get(each.path, Below(each.path, parent=each.parent))
        traits = tuple(sorted({*before.traits, *each.traits}))
        found[each.path] = Below(each.path, {**before.inventories, **each.inventories}, traits, before.parent)
    placed = [found.pop("")]
    while found:
        known = {each.path for each in placed}
        ready = [each for each in found.values() if each.parent in known]
        if not ready:
            raise ValueError(f"provider {next(iter(found))} has a parent that is not there, or is its own")
        placed += ready
        for each in ready:
            del found[each.path]
    return placed


def _facts(group: str, values: cfg.ConfigOpts.GroupAttr) -> dict[str, Any]:
    instances = [item.split(":") for item in values.supported_instances]
    if any(len(item) != 3 for item in instances):
        raise errors.BadConfiguration(
            why=f"[{group}] supported_instances: each must be ARCHITECTURE:HYPERVISOR:MODE, such as x86_64:kvm:hvm"
        )
    told = {
        "hypervisor_type": values.hypervisor_type,
        "hypervisor_version": values.hypervisor_version,
        "supported_instances": instances,
        "cpu_info": dict(values.cpu_info),
    }
    return {name: value for name, value in told.items() if value}
