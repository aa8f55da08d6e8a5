# SPDX-License-Identifier: Apache-2.0
"""Internal form of a scheduling request."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from operator import attrgetter
from typing import Any

from rpcapi.resources.claims import GroupPolicy
from rpcapi.resources.groups import RequestGroup, thaw
from scheduler_svc.core.records import NO_MEMBERS, Amounts, ClaimGroup, GroupMembers

COMPUTE = "compute"


class FilterScope(StrEnum):
    """Set of filters that apply to a request, as listed in scheduler_svc.core.filtering.pipeline."""

    ALL = "all"
    FORCED = "forced"  # named hosts, and the conditions that Placement checks
    PLACEMENT = "placement"  # conditions that Placement checks, to word refusals like Nova
    REBUILD = "rebuild"  # conditions of the image: the instance stays on its host


# Fields that the decision record omits or stores in a different form. It copies all other fields that are set.
_NOT_COPIED = {
    *("id", "project", "user", "flavor", "service", "groups", "group", "group_members"),
    *("source_cell", "stays_in_cell", "scope", "decision"),
}


@dataclass(frozen=True, slots=True)
class DecisionContext:
    """Facts that the scheduler adds to a request during a decision."""

    instance_hosts: Mapping[str, str] = field(default_factory=dict)  # host of each hinted instance
    members: Mapping[str, int] = field(default_factory=dict)  # server group members per host
    excluded_hosts: tuple[str, ...] = ()  # hosts at the limit of an anti-affinity group
    group_hosts: tuple[str, ...] = ()  # hosts of an affinity group
    partition: str | None = None  # only partition to decide in; None: all
    group_generation: str = ""  # generation of the server group's home in ``partition``
    group_epoch: int | None = None  # only epoch of that generation: later ones may have forgotten that the group left
    unavailable_partitions: tuple[str, ...] = ()  # partitions whose stores do not answer
    just_unavailable: tuple[str, ...] = ()  # partitions that became unavailable less than transient.SECONDS ago
    rewritten: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # additions of each prefilter
    unread_cells: tuple[str, ...] = ()  # cells whose compute nodes have not been reported for too long
    just_unread_cells: tuple[str, ...] = ()  # cells that became unread less than transient.SECONDS ago
    host_state_age_s: float = 0.0  # age of reported compute nodes; 0 while current
    is_contended: bool = False  # whether other calls are decided at the same time
    lost_tries: int = 0  # tries in which the store refused all candidates


@dataclass(frozen=True, slots=True)
class SchedulingRequest:
    """Request for identical instances. ``id`` is the request id, which seeds all random choices.

    rpcapi.objects.RequestSpec explains fields of the same name; ``groups`` are the suffixed request groups. A moving
    instance may not leave its partition with ``stays_in_partition``, nor its cell (a UUID) with ``stays_in_cell``.
    """

    id: str
    resources: Amounts
    required_traits: tuple[str, ...] = ()
    forbidden_traits: tuple[str, ...] = ()
    availability_zone: str | None = None
    ignore_hosts: tuple[str, ...] = ()
    force_hosts: tuple[str, ...] = ()
    hints: Mapping[str, Any] = field(default_factory=dict)
    group: ClaimGroup | None = None
    group_members: GroupMembers = NO_MEMBERS
    any_traits: tuple[tuple[str, ...], ...] = ()
    member_of: tuple[tuple[str, ...], ...] = ()
    forbidden_aggregates: tuple[str, ...] = ()
    in_tree: str | None = None
    groups: tuple[RequestGroup, ...] = ()
    groups_policy: str | None = None
    root_required: tuple[str, ...] = ()
    root_forbidden: tuple[str, ...] = ()
    same_subtree: tuple[tuple[str, ...], ...] = ()
    numa: Mapping[str, Any] = field(default_factory=dict)
    image: Mapping[str, Any] = field(default_factory=dict)
    extra_specs: Mapping[str, str] = field(default_factory=dict)
    flavor: str | None = None
    volumes: tuple[Mapping[str, Any], ...] = ()
    ports: tuple[Mapping[str, Any], ...] = ()
    service: str = COMPUTE
    driver: str | None = None
    project: str = ""
    user: str = ""
    source_partition: str | None = None
    stays_in_partition: bool = False
    source_cell: str | None = None
    stays_in_cell: bool = False
    scope: FilterScope = FilterScope.ALL
    decision: DecisionContext = DecisionContext()

    def is_like(self, other: "SchedulingRequest") -> bool:
        """Return whether the requests differ at most in their ids, so that one ranking serves both."""
        return _shape(self) == _shape(other)

    @property
    def max_instances_per_host(self) -> int | None:
        if self.group is not None and self.group.policy == GroupPolicy.ANTI_AFFINITY:
            return self.group.max_per_host
        return None

    @property
    def is_affinity(self) -> bool:
        return self.group is not None and self.group.policy == GroupPolicy.AFFINITY

    @property
    def seed(self) -> int:
        """Hash of the request id, small enough to be an exact JSON number."""
        return int.from_bytes(hashlib.blake2b(self.id.encode(), digest_size=6).digest(), "big")

    def with_decision(self, **changes: Any) -> "SchedulingRequest":
        return replace(self, decision=replace(self.decision, **changes))

    def as_dict(self) -> dict[str, Any]:
        document: dict[str, Any] = {name: thaw(value) for name in _RECORDED if (value := getattr(self, name))}
        if self.decision.host_state_age_s:
            document["host_state_age_s"] = self.decision.host_state_age_s
        if self.decision.rewritten:
            document["rewritten"] = self.decision.rewritten
        if self.groups:
            document["groups"] = {group.suffix: group.as_dict() for group in self.groups}
        if self.service != COMPUTE:
            document["service"] = self.service
        if self.group is not None:
            document["group"] = {"id": self.group.id, "policy": str(self.group.policy)}
        return document


_FIELDS = tuple(entry.name for entry in fields(SchedulingRequest))
_RECORDED = tuple(name for name in _FIELDS if name not in _NOT_COPIED)
_shape = attrgetter(*(name for name in _FIELDS if name != "id"))
