# SPDX-License-Identifier: Apache-2.0
"""What is asked for, as the deciding core reads it."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rpcapi.model.claims import GroupPolicy
from scheduler_svc.store.records import Amounts, Group


@dataclass(frozen=True, slots=True)
class Request:
    """One shape of server. ``id`` is the request id: it seeds whatever is left to chance.

    ``ruled_out`` names hosts that hold as many of an anti-affinity group as may be, ``beside`` those where an affinity
    group already is: only the store knows, and it tells while the request is decided. ``partition`` keeps the decision
    to one partition's hosts, ``away`` names partitions whose stores do not answer.
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
        for name in ("required_traits", "forbidden_traits", "ignore_hosts", "force_hosts"):
            if getattr(self, name):
                asked[name] = list(getattr(self, name))
        if self.availability_zone is not None:
            asked["availability_zone"] = self.availability_zone
        if self.hints:
            asked["hints"] = dict(self.hints)
        if self.group is not None:
            asked["group"] = {"id": self.group.id, "policy": str(self.group.policy)}
        return asked
