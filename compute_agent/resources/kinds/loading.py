# SPDX-License-Identifier: Apache-2.0
"""Loading of a shape's resource kinds."""

import importlib.metadata
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from oslo_config import cfg
from oslo_log import log

from compute_agent.resources.kinds.kind import (
    Amounts,
    Assignment,
    AssignmentRequest,
    NodeProvider,
    ResourceKind,
    UndecidedMapping,
)
from rpcapi import errors
from rpcapi.resources import names, vocabulary
from rpcapi.resources.inventory import Inventory

LOG = log.getLogger(__name__)
Answer = TypeVar("Answer")

GROUP = "gantt.resource_kinds"

# {key that a kind may add to a report: (type, maximum bytes of JSON)}. The scheduler rejects larger NUMA cells, and
# more than 16 KiB of facts including the shape's.
_REPORT_LIMITS: Mapping[str, tuple[type, int]] = {
    "numa": (list, 64 * 1024),
    "facts": (dict, 12 * 1024),
    "metrics": (dict, 12 * 1024),
}


@dataclass(frozen=True, slots=True)
class LoadedKind:
    """Loaded resource kind with its declared providers.

    Attributes:
        classes: {path: resource classes of the kind}.
        adds_to_reports: False unless ``report`` is overridden; saves calls for thousands of nodes.
    """

    name: str
    kind: ResourceKind
    providers: tuple[NodeProvider, ...]
    classes: Mapping[str, frozenset[str]]
    adds_to_reports: bool

    @classmethod
    def of(cls, name: str, kind: ResourceKind) -> "LoadedKind":
        providers = tuple(kind.inventory())
        classes = {provider.path: frozenset(provider.inventories) for provider in providers if provider.inventories}
        return cls(name, kind, providers, classes, bool(providers) and type(kind).report is not ResourceKind.report)

    def amounts(self, node_amounts: Amounts) -> Amounts:
        kind_amounts: dict[str, dict[str, int]] = {}
        for path, classes in self.classes.items():
            own_amounts = {name: amount for name, amount in node_amounts.get(path, {}).items() if name in classes}
            if own_amounts:
                kind_amounts[path] = own_amounts
        return kind_amounts

    def assign(self, request: AssignmentRequest, assignments: Sequence[Assignment]) -> Assignment | str:
        """Let the kind assign; an exception or a result that cannot be journalled refuses the build."""
        try:
            if not self.kind.concerns(request):
                return {}
            assignment = self.kind.assign(request, assignments)
            # Journalled assignments must read back equal.
            return assignment if isinstance(assignment, str) else dict(json.loads(json.dumps(assignment)))
        except UndecidedMapping as undecided:
            return str(undecided)
        except Exception as error:
            # Boundary to plugin code; the build goes to another host.
            LOG.exception("Resource kind %s failed to assign", self.name)
            _count_fault(self.name, "assign")
            return f"resource kind {self.name!r} failed: {error!r}"

    def report(self, assignments: Sequence[Assignment]) -> Mapping[str, Any]:
        """Return what the kind adds to a node's report; {} after an exception, which is logged."""
        # A report without this kind's keys is better than a silent host.
        return self._call("report", lambda: _check_report(self.kind.report(assignments)), {})

    def describe(self, assignment: Assignment) -> str:
        return self._call("describe", lambda: _check_text(self.kind.describe(assignment)), "")

    def _call(self, operation: str, act: Callable[[], Answer], otherwise: Answer) -> Answer:
        try:
            return act()
        except Exception:
            # Boundary to plugin code.
            LOG.exception("Resource kind %s failed to %s", self.name, operation)
            _count_fault(self.name, operation)
            return otherwise


def load_kinds(conf: cfg.ConfigOpts, group: str) -> list[LoadedKind]:
    """Return the resource kinds of a shape, sorted by name; raises BadConfiguration or cfg.Error.

    Logs and skips a kind that cannot be loaded, raises, or has an invalid inventory.
    """
    entries = sorted(importlib.metadata.entry_points(group=GROUP), key=lambda entry: entry.name)
    if not entries:
        raise errors.BadConfiguration(why=f"no entry point of group {GROUP} is installed: install gantt again")
    kinds: list[LoadedKind] = []
    for entry in entries:
        try:
            new_kinds = _load_kind(entry.name, entry.load().of_shape, conf, group, kinds)
        except (errors.BadConfiguration, cfg.Error):
            raise
        except Exception as error:
            # Boundary to plugin code; nodes without this kind can still run other guests.
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
            # Check like the scheduler, which would reject the whole report for an invalid inventory.
            Inventory.from_dict(resource_class, inventory.as_dict())
            vocabulary.check_resource_class(resource_class)
            if (provider.path, resource_class) in used_classes:
                raise ValueError(f"{resource_class} at {provider.path or 'the node'} already belongs to another kind")
        for trait in provider.traits:
            vocabulary.check_trait(trait)
    return [new_kind]


def _check_report(report: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return ``report`` if the scheduler will accept it.

    Raises ValueError or other errors for values that make the scheduler reject the whole report, so that the host
    counts as silent.
    """
    for key, value in report.items():
        expected_type, max_bytes = _REPORT_LIMITS[key]
        if not isinstance(value, expected_type):
            raise ValueError(f"{key} must be a {expected_type.__name__}")
        size = len(json.dumps(value, allow_nan=False, ensure_ascii=False).encode())
        if size > max_bytes:
            raise ValueError(f"{key} may have at most {max_bytes} bytes of JSON, got {size}")
    if not all(isinstance(cell, dict) for cell in report.get("numa", ())):
        raise ValueError("each cell of numa must be a dict")
    for name, value in report.get("metrics", {}).items():
        if not isinstance(name, str) or isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"metric {name!r} must be a number")
    return report


def _check_text(text: str) -> str:
    if not isinstance(text, str):
        raise ValueError(f"a description must be a string, got {text!r}")
    return text


def _count_fault(name: str, operation: str) -> None:
    # Only workers may import metrics, but kinds are loaded earlier as well, to check the configuration.
    from compute_agent import metrics  # noqa: PLC0415

    metrics.KIND_FAULTS.labels(name, operation).inc()
