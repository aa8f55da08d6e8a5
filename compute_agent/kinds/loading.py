# SPDX-License-Identifier: Apache-2.0
"""Finding the kinds of resources that the nodes of a shape have."""

import importlib.metadata
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oslo_config import cfg
from oslo_log import log

from compute_agent.kinds.kind import Amounts, Assignment, AssignmentRequest, NodeProvider, ResourceKind
from rpcapi import errors
from rpcapi.model import names, vocabulary
from rpcapi.model.inventory import Inventory

LOG = log.getLogger(__name__)

GROUP = "gantt.resource_kinds"

# What a kind may add to a report, and how many bytes of JSON. The scheduler takes no more of cells, and of facts 16 KiB
# with those of the shape.
_REPORT_LIMITS: Mapping[str, tuple[type, int]] = {
    "numa": (list, 64 * 1024),
    "facts": (dict, 12 * 1024),
    "metrics": (dict, 12 * 1024),
}


@dataclass(frozen=True, slots=True)
class LoadedKind:
    """A kind under its name, with what it said that a node has.

    ``classes`` has the resource classes that are this kind's, by path; ``telling`` says whether it adds to reports:
    most do not, and there are thousands of nodes.
    """

    name: str
    kind: ResourceKind
    providers: tuple[NodeProvider, ...]
    classes: Mapping[str, frozenset[str]]
    adds_to_reports: bool

    @classmethod
    def of(cls, name: str, kind: ResourceKind) -> "LoadedKind":
        """Ask a kind for its inventory, which may raise anything."""
        providers = tuple(kind.inventory())
        classes = {provider.path: frozenset(provider.inventories) for provider in providers if provider.inventories}
        return cls(name, kind, providers, classes, bool(providers) and type(kind).report is not ResourceKind.report)

    def amounts(self, node_amounts: Amounts) -> Amounts:
        """Return what of ``held`` is of this kind."""
        kind_amounts: dict[str, dict[str, int]] = {}
        for path, classes in self.classes.items():
            own_amounts = {name: amount for name, amount in node_amounts.get(path, {}).items() if name in classes}
            if own_amounts:
                kind_amounts[path] = own_amounts
        return kind_amounts

    def assign(self, request: AssignmentRequest, assignments: Sequence[Assignment]) -> Assignment | str:
        """Ask the kind; what it raises, or what cannot be journalled, is a refusal under its name."""
        try:
            if not self.kind.concerns(request):
                return {}
            assignment = self.kind.assign(request, assignments)
            # The journal writes it, and the next agent reads it.
            return assignment if isinstance(assignment, str) else dict(json.loads(json.dumps(assignment)))
        except Exception as error:
            # The edge to code from outside, whatever it is: the host stays whole, the build goes elsewhere.
            LOG.exception("Resource kind %s failed to assign", self.name)
            _count_fault(self.name, "assign")
            return f"resource kind {self.name!r} failed: {error!r}"

    def report(self, assignments: Sequence[Assignment]) -> Mapping[str, Any]:
        """Return what the kind adds to a node's report; nothing where it raises, which is logged."""
        try:
            return _check_report(self.kind.report(assignments))
        except Exception:
            # As above: a report without this kind's part is better than a host that falls silent.
            LOG.exception("Resource kind %s failed to report", self.name)
            _count_fault(self.name, "report")
            return {}

    def describe(self, assignment: Assignment) -> str:
        """Return an assignment for people."""
        try:
            return _check_text(self.kind.describe(assignment))
        except Exception:
            # As above.
            LOG.exception("Resource kind %s failed to describe %s", self.name, assignment)
            _count_fault(self.name, "describe")
            return ""


def load_kinds(conf: cfg.ConfigOpts, group: str) -> list[LoadedKind]:
    """Return all kinds that the nodes of a shape have, by name; raises BadConfiguration, cfg.Error.

    One that cannot be loaded, that raises or whose inventory makes no sense is left out, and that is logged.
    """
    entries = sorted(importlib.metadata.entry_points(group=GROUP), key=lambda entry: entry.name)
    if not entries:
        raise errors.BadConfiguration(why=f"no entry point of {GROUP} is found: install gantt again")
    kinds: list[LoadedKind] = []
    for entry in entries:
        try:
            new_kinds = _load_kind(entry.name, entry.load().of_shape, conf, group, kinds)
        except (errors.BadConfiguration, cfg.Error):
            raise
        except Exception as error:
            # The edge to code from outside: nodes without this kind serve those who do not ask for it.
            LOG.exception("Resource kind %s is left out of [%s]: %s", entry.name, group, error)
            _count_fault(entry.name, "inventory")
        else:
            kinds += new_kinds
    return kinds


def _load_kind(
    name: str,
    of_shape: Callable[[cfg.ConfigOpts, str], ResourceKind | None],
    conf: cfg.ConfigOpts,
    group: str,
    earlier_kinds: Iterable[LoadedKind],
) -> list[LoadedKind]:
    kind = of_shape(conf, group)
    if kind is None:
        return []
    new_kind = LoadedKind.of(name, kind)
    used_classes = {
        (path, name) for earlier in earlier_kinds for path, classes in earlier.classes.items() for name in classes
    }
    for provider in new_kind.providers:
        names.canonical(("host", f"node/{provider.path}") if provider.path else "host")
        if provider.path and not all(provider.path.split("/")):
            raise ValueError(f"path {provider.path!r} has an empty part")
        for resource_class, inventory in provider.inventories.items():
            # Checked as the scheduler does, which would take nothing of a report that holds a bad one.
            Inventory.from_dict(resource_class, inventory.as_dict())
            vocabulary.check_resource_class(resource_class)
            if (provider.path, resource_class) in used_classes:
                raise ValueError(f"{resource_class} at {provider.path or 'the node'} is another kind's already")
        for trait in provider.traits:
            vocabulary.check_trait(trait)
    return [new_kind]


def _check_report(report: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a kind adds to a report; raises ValueError and others for what the scheduler would not take.

    It would take nothing of that report then, and the host would be as good as silent.
    """
    for key, value in report.items():
        expected_type, max_bytes = _REPORT_LIMITS[key]
        if not isinstance(value, expected_type):
            raise ValueError(f"{key} must be a {expected_type.__name__}")
        size = len(json.dumps(value, allow_nan=False, ensure_ascii=False).encode())
        if size > max_bytes:
            raise ValueError(f"{key} may have {max_bytes} bytes of JSON, not {size}")
    if not all(isinstance(cell, dict) for cell in report.get("numa", ())):
        raise ValueError("each cell of numa must be a dict")
    for name, value in report.get("metrics", {}).items():
        if not isinstance(name, str) or isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"metric {name!r} must be a number")
    return report


def _check_text(text: str) -> str:
    if not isinstance(text, str):
        raise ValueError(f"a description must be text, not {text!r}")
    return text


def _count_fault(name: str, operation: str) -> None:
    # Only a worker may import figures, and kinds are looked at before there is one, to check the configuration.
    from compute_agent import metrics  # noqa: PLC0415

    metrics.KIND_FAULTS.labels(name, operation).inc()
