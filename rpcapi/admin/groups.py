# SPDX-License-Identifier: Apache-2.0
"""Server groups, from the claims of their members."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rpcapi import errors
from rpcapi.admin import Session
from rpcapi.resources.claims import MIGRATION, GroupPolicy


class Group(NamedTuple):
    """Server group with its members' live claims; ``sources`` are claims that moving members leave."""

    id: str
    policy: str | None
    claims: Sequence[Mapping[str, Any]]
    sources: Sequence[Mapping[str, Any]]

    @property
    def hosts(self) -> dict[str, int]:
        return dict(sorted(Counter(claim["host"] for claim in self.claims).items()))

    @property
    def state(self) -> str:
        """``split`` for an affinity group on several nodes, ``moving`` during migrations, otherwise ``ok``."""
        if self.policy == GroupPolicy.AFFINITY and len(self.hosts) > 1:
            return "split"
        return "moving" if self.sources else "ok"


def _claims_of_members(session: Session, host: str | None = None) -> Iterator[Mapping[str, Any]]:
    for name in session.partitions():
        for claim in session.list_claims(name, host=host):
            if claim.get("group_id") is not None:
                yield claim


def read_groups(session: Session, group_id: str | None = None) -> list[Group]:
    """Return the groups with claims, sorted by id, optionally only one group."""
    claims: dict[str, list[Mapping[str, Any]]] = {}
    for claim in _claims_of_members(session):
        if group_id in (None, claim["group_id"]):
            claims.setdefault(claim["group_id"], []).append(claim)
    members = {key: [claim for claim in group if claim["type"] != MIGRATION] for key, group in claims.items()}
    sources = {key: [claim for claim in group if claim["type"] == MIGRATION] for key, group in claims.items()}
    policies = {key: group[0].get("group_policy") for key, group in claims.items()}
    return [Group(key, policies[key], members[key], sources[key]) for key in sorted(claims)]


def find_group(session: Session, group_id: str) -> Group:
    """Return a group; raises NotFound if it has no claims."""
    groups = read_groups(session, group_id)
    if not groups:
        raise _no_member(group_id)
    return groups[0]


def _no_member(group_id: str) -> errors.NotFound:
    return errors.NotFound(what=f"A member of server group {group_id}")


def members_of(session: Session, group_id: str) -> list[str]:
    """Return the uuids of a group's members; raises NotFound if there are none."""
    uuids = [claim["consumer"] for claim in find_group(session, group_id).claims]
    if not uuids:
        raise _no_member(group_id)
    return uuids


def affinity_batches(session: Session, host: str, servers: Sequence[Any]) -> list[list[Any]]:
    """Group the servers of a service host into batches that move together: affinity groups and single servers."""
    groups = {
        claim["consumer"]: claim["group_id"]
        for claim in _claims_of_members(session, host)
        if claim.get("group_policy") == GroupPolicy.AFFINITY
    }
    batches: dict[tuple[str, str], list[Any]] = {}
    for server in servers:
        key = ("group", groups[server.uuid]) if server.uuid in groups else ("server", server.uuid)
        batches.setdefault(key, []).append(server)
    return list(batches.values())
