# SPDX-License-Identifier: Apache-2.0
"""Finding the kinds of resources that the nodes of a shape have."""

import importlib.metadata
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oslo_config import cfg
from oslo_log import log

from compute_agent.kinds.kind import Amounts, Asked, Assignment, Below, ResourceKind
from rpcapi import errors
from rpcapi.model import names, vocabulary
from rpcapi.model.inventory import Inventory

LOG = log.getLogger(__name__)

GROUP = "gantt.resource_kinds"

# What a kind may add to a report, and how many bytes of JSON. The scheduler takes no more of cells, and of facts 16 KiB
# with those of the shape.
_REPORTED: Mapping[str, tuple[type, int]] = {
    "numa": (list, 64 * 1024),
    "facts": (dict, 12 * 1024),
    "metrics": (dict, 12 * 1024),
}


@dataclass(frozen=True, slots=True)
class Loaded:
    """A kind under its name, with what it said that a node has.

    ``classes`` has the resource classes that are this kind's, by path; ``telling`` says whether it adds to reports:
    most do not, and there are thousands of nodes.
    """

    name: str
    kind: ResourceKind
    below: tuple[Below, ...]
    classes: Mapping[str, frozenset[str]]
    telling: bool

    @classmethod
    def of(cls, name: str, kind: ResourceKind) -> "Loaded":
        """Ask a kind for its inventory, which may raise anything."""
        below = tuple(kind.inventory())
        classes = {each.path: frozenset(each.inventories) for each in below if each.inventories}
        return cls(name, kind, below, classes, bool(below) and type(kind).report is not ResourceKind.report)

    def amounts(self, held: Amounts) -> Amounts:
        """Return what of ``held`` is of this kind."""
        own: dict[str, dict[str, int]] = {}
        for path, classes in self.classes.items():
            mine = {name: amount for name, amount in held.get(path, {}).items() if name in classes}
            if mine:
                own[path] = mine
        return own

    def assign(self, asked: Asked, taken: Sequence[Assignment]) -> Assignment | str:
        """Ask the kind; what it raises, or what cannot be journalled, is a refusal under its name."""
        try:
            if not self.kind.concerns(asked):
                return {}
            got = self.kind.assign(asked, taken)
            # The journal writes it, and the next agent reads it.
            return got if isinstance(got, str) else dict(json.loads(json.dumps(got)))
        except Exception as error:
            # The edge to code from outside, whatever it is: the host stays whole, the build goes elsewhere.
            LOG.exception("Resource kind %s failed to assign", self.name)
            _count_fault(self.name, "assign")
            return f"resource kind {self.name!r} failed: {error!r}"

    def report(self, taken: Sequence[Assignment]) -> Mapping[str, Any]:
        """Return what the kind adds to a node's report; nothing where it raises, which is logged."""
        try:
            return _checked(self.kind.report(taken))
        except Exception:
            # As above: a report without this kind's part is better than a host that falls silent.
            LOG.exception("Resource kind %s failed to report", self.name)
            _count_fault(self.name, "report")
            return {}

    def describe(self, assignment: Assignment) -> str:
        """Return an assignment for people."""
        try:
            return _text(self.kind.describe(assignment))
        except Exception:
            # As above.
            LOG.exception("Resource kind %s failed to describe %s", self.name, assignment)
            _count_fault(self.name, "describe")
            return ""


def load(conf: cfg.ConfigOpts, group: str) -> list[Loaded]:
    """Return all kinds that the nodes of a shape have, by name; raises BadConfiguration, cfg.Error.

    One that cannot be loaded, that raises or whose inventory makes no sense is left out, and that is logged.
    """
    entries = sorted(importlib.metadata.entry_points(group=GROUP), key=lambda each: each.name)
    if not entries:
        raise errors.BadConfiguration(why=f"no entry point of {GROUP} is found: install gantt again")
    found: list[Loaded] = []
    for entry in entries:
        try:
            one = _loaded(entry.name, entry.load().of_shape, conf, group, found)
        except (errors.BadConfiguration, cfg.Error):
            raise
        except Exception as error:
            # The edge to code from outside: nodes without this kind serve those who do not ask for it.
            LOG.exception("Resource kind %s is left out of [%s]: %s", entry.name, group, error)
            _count_fault(entry.name, "inventory")
        else:
            found += one
    return found


def _loaded(
    name: str,
    of_shape: Callable[[cfg.ConfigOpts, str], ResourceKind | None],
    conf: cfg.ConfigOpts,
    group: str,
    before: Iterable[Loaded],
) -> list[Loaded]:
    kind = of_shape(conf, group)
    if kind is None:
        return []
    found = Loaded.of(name, kind)
    others = {(path, each) for loaded in before for path, classes in loaded.classes.items() for each in classes}
    for each in found.below:
        names.canonical(("host", f"node/{each.path}") if each.path else "host")
        if each.path and not all(each.path.split("/")):
            raise ValueError(f"path {each.path!r} has an empty part")
        for resource_class, inventory in each.inventories.items():
            # Checked as the scheduler does, which would take nothing of a report that holds a bad one.
            Inventory.from_dict(resource_class, inventory.as_dict())
            vocabulary.check_resource_class(resource_class)
            if (each.path, resource_class) in others:
                raise ValueError(f"{resource_class} at {each.path or 'the node'} is another kind's already")
        for trait in each.traits:
            vocabulary.check_trait(trait)
    return [found]


def _checked(told: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a kind adds to a report; raises ValueError and others for what the scheduler would not take.

    It would take nothing of that report then, and the host would be as good as silent.
    """
    for key, value in told.items():
        form, most = _REPORTED[key]
        if not isinstance(value, form):
            raise ValueError(f"{key} must be a {form.__name__}")
        size = len(json.dumps(value, allow_nan=False, ensure_ascii=False).encode())
        if size > most:
            raise ValueError(f"{key} may have {most} bytes of JSON, not {size}")
    if not all(isinstance(cell, dict) for cell in told.get("numa", ())):
        raise ValueError("each cell of numa must be a dict")
    for name, value in told.get("metrics", {}).items():
        if not isinstance(name, str) or isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"metric {name!r} must be a number")
    return told


def _text(told: str) -> str:
    if not isinstance(told, str):
        raise ValueError(f"a description must be text, not {told!r}")
    return told


def _count_fault(name: str, what: str) -> None:
    # Only a worker may import figures, and kinds are looked at before there is one, to check the configuration.
    from compute_agent import metrics  # noqa: PLC0415

    metrics.KIND_FAULTS.labels(name, what).inc()
