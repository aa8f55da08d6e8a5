# SPDX-License-Identifier: Apache-2.0
"""What is asked for, as the deciding core reads it."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rpcapi.model.claims import GroupPolicy
from rpcapi.model.groups import RequestGroup
from scheduler_svc.store.records import Amounts, Group

COMPUTE = "compute"

# What a decision's record tells of a request as it is, where it was asked at all.
_TOLD = (
    *("required_traits", "any_traits", "forbidden_traits", "member_of", "forbidden_aggregates", "in_tree"),
    *("groups_policy", "same_subtree", "root_required", "root_forbidden", "availability_zone", "ignore_hosts"),
    *("force_hosts", "hints", "numa", "image", "extra_specs", "volumes", "ports", "driver", "rewritten"),
)


@dataclass(frozen=True, slots=True)
class Request:
    """One shape of server. ``id`` is the request id: it seeds whatever is left to chance.

    ``resources``, the traits, ``member_of``, ``forbidden_aggregates`` and ``in_tree`` are the request group without a
    suffix, ``groups`` the others; rpcapi.objects.RequestSpec tells of them, and of ``numa``, ``image``,
    ``extra_specs``, ``volumes`` and ``ports``. ``service`` is whose resource is placed: "compute", "volume" or
    "network".

    ``located`` says on which host each instance is that a hint names, ``members`` how many of the server group each
    host holds. ``ruled_out`` names hosts that hold as many of an anti-affinity group as may be, ``beside`` those where
    an affinity group already is: only the store knows, and it tells while the request is decided. ``partition`` keeps
    the decision to one partition's hosts, ``away`` names partitions whose stores do not answer. ``source_partition``
    is where an instance that moves is now, None for one that is new. ``rewritten`` tells what each prefilter added.
    """

    id: str
    resources: Amounts
    required_traits: tuple[str, ...] = ()
    forbidden_traits: tuple[str, ...] = ()
    availability_zone: str | None = None
    ignore_hosts: tuple[str, ...] = ()
    force_hosts: tuple[str, ...] = ()
    hints: Mapping[str, Any] = field(default_factory=dict)
    group: Group | None = None
    ruled_out: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    partition: str | None = None
    away: tuple[str, ...] = ()
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
    located: Mapping[str, str] = field(default_factory=dict)
    members: Mapping[str, int] = field(default_factory=dict)
    source_partition: str | None = None
    rewritten: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def most_per_host(self) -> int | None:
        """Return how many instances of this request one host may take, or None for no limit."""
        if self.group is not None and self.group.policy == GroupPolicy.ANTI_AFFINITY:
            return self.group.max_per_host
        return None

    @property
    def together(self) -> bool:
        """Tell whether all instances of this request must land on one host."""
        return self.group is not None and self.group.policy == GroupPolicy.AFFINITY

    @property
    def seed(self) -> int:
        """Return a number that only the request id decides; small enough to be exact as a JSON number."""
        return int.from_bytes(hashlib.blake2b(self.id.encode(), digest_size=6).digest(), "big")

    def as_dict(self) -> dict[str, Any]:
        """Return what was asked, for the decision's record: what was left open is left out."""
        asked: dict[str, Any] = {"resources": dict(self.resources)}
        asked |= {name: _plain(value) for name in _TOLD if (value := getattr(self, name))}
        if self.groups:
            asked["groups"] = {each.suffix: each.as_dict() for each in self.groups}
        if self.service != COMPUTE:
            asked["service"] = self.service
        if self.group is not None:
            asked["group"] = {"id": self.group.id, "policy": str(self.group.policy)}
        return asked


def _plain(value: Any) -> Any:
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
