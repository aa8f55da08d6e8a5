# SPDX-License-Identifier: Apache-2.0
"""Admission of build requests by project quotas and the limit of the backlog."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rpcapi import errors

if TYPE_CHECKING:  # the master process of a daemon must not import the libraries of objects
    from rpcapi import objects

INSTANCES = "instances"
RECORDED = "recorded_instances"
UNLIMITED = 1 << 40


@dataclass(frozen=True, slots=True)
class Admission:
    """Quota amounts of one instance, limits of its project, and limit of the backlog.

    Attributes:
        amounts: Quota amount per instance by resource class, and 1 for INSTANCES.
        limits: Limits by the same names. RECORDED limits records in any state, since each leaves tombstones.
        max_backlog: Waiting instances of all projects; each project may always have an equal share.
    """

    amounts: Mapping[str, int] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    max_backlog: int = UNLIMITED

    def check_quota(self, project: str, usage: Mapping[str, int], count: int) -> None:
        """Raise QuotaExceeded if ``count`` more instances exceed a limit."""
        for name, limit in self.limits.items():
            used = usage.get(name, 0)
            if used + count * self._amount(name) > limit and self._amount(name):
                raise self.quota_exceeded(project, name, used, count)

    def quota_exceeded(self, project: str, name: str, used: int, count: int) -> errors.QuotaExceeded:
        limit, requested = self.limits[name], count * self._amount(name)
        return errors.QuotaExceeded(project=project, resource=name, limit=limit, used=used, requested=requested)

    def check_backlog(self, waiting: Mapping[str, int], project: str, count: int, oldest_ms: int) -> None:
        """Raise Overloaded unless ``count`` more instances of ``project`` may wait.

        Raises RequestTooLarge for a ``count`` that can never wait.

        Args:
            waiting: {project: waiting instances}.
            oldest_ms: Wait of the oldest new request; estimates when a retry may succeed.
        """
        share = self.max_backlog / len(waiting.keys() | {project})
        if sum(waiting.values()) + count > self.max_backlog and waiting.get(project, 0) + count > share:
            raise self.overloaded(sum(waiting.values()), count, oldest_ms)

    def overloaded(self, waiting: int, count: int, oldest_ms: int) -> errors.GanttError:
        if count > self.max_backlog:
            return errors.RequestTooLarge(
                count=count, unit="instances", option="[conductor] max_backlog", bound=self.max_backlog
            )
        return errors.Overloaded(
            what="The conductor",
            waiting=waiting,
            unit="instances",
            bound=self.max_backlog,
            retry_s=max(1, oldest_ms // 1000),
        )

    def _amount(self, name: str) -> int:
        return 1 if name == RECORDED else self.amounts.get(name, 0)


UNLIMITED_ADMISSION = Admission()


@dataclass(frozen=True, slots=True)
class AdmissionLimits:
    """Limits of all projects, reloaded with the configuration.

    Attributes:
        default: Limits by name; negative means unlimited.
        projects: {project: limits that override ``default`` by name}.
        max_spec_bytes: Maximum size of a spec as JSON.
    """

    default: Mapping[str, int] = field(default_factory=dict)
    projects: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    max_backlog: int = UNLIMITED
    max_spec_bytes: int = UNLIMITED

    def check_spec_size(self, primitive: Mapping[str, Any]) -> None:
        """Raise InvalidSpec if the spec is too large to store."""
        size = len(json.dumps(primitive))
        if size > self.max_spec_bytes:
            raise errors.InvalidSpec(
                why=f"it has {size} bytes, [conductor] max_spec_bytes allows {self.max_spec_bytes}"
            )

    def of_project(self, project: str) -> dict[str, int]:
        limits = {**self.default, **self.projects.get(project, {})}
        return {name: limit for name, limit in limits.items() if limit >= 0}

    def of_request(self, project: str, spec: "objects.RequestSpec") -> Admission:
        return Admission(count_amounts(spec), self.of_project(project), self.max_backlog)


def total_amounts(allocations: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for amounts in allocations.values():
        total.update(amounts)
    return dict(total)


def count_amounts(spec: "objects.RequestSpec") -> dict[str, int]:
    """Return the quota amounts of one instance: 1 for INSTANCES, and the resources of all groups."""
    amounts = Counter({INSTANCES: 1})
    for resources in (spec.resources, *(fields.get("resources", {}) for fields in spec.groups.values())):
        amounts.update(resources)
    return dict(amounts)


def has_amounts(allocations: Mapping[str, Mapping[str, int]] | None, spec: "objects.RequestSpec") -> bool:
    """Return whether a claim's ``allocations`` have the amounts of ``spec``. None means those of the spec."""
    return allocations is None or {INSTANCES: 1, **total_amounts(allocations)} == count_amounts(spec)
