# SPDX-License-Identifier: Apache-2.0
"""Server groups, with the claims of their members."""

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rpcapi import errors
from rpcapi.admin import Session
from rpcapi.resources.claims import MIGRATION, GroupPolicy

if TYPE_CHECKING:
    from rpcapi.objects import ServerGroup

Claims = Sequence[Mapping[str, Any]]


class Group(NamedTuple):
    """Server group with live claims (None: not readable by the caller); moving members leave ``sources``."""

    id: str
    name: str
    project: str
    policy: str
    max_per_host: int
    claims: Claims | None
    sources: Claims

    @property
    def hosts(self) -> dict[str, int] | None:
        if self.claims is None:
            return None
        return dict(sorted(Counter(claim["host"] for claim in self.claims).items()))

    @property
    def state(self) -> str | None:
        """``split`` for an affinity group on several nodes, ``moving`` during migrations, otherwise ``ok``."""
        if self.hosts is None:
            return None
        if self.policy == GroupPolicy.AFFINITY and len(self.hosts) > 1:
            return "split"
        return "moving" if self.sources else "ok"


def create_group(
    session: Session, name: str, policy: str, max_per_host: int = 1, *, project: str | None = None
) -> "ServerGroup":
    """Create a server group; ``project`` defaults to the session's. Raises InvalidSpec, QuotaExceeded."""
    from rpcapi.objects import ServerGroup  # noqa: PLC0415 - lazy, see Session

    values = {"name": name, "project": project or session.project, "policy": policy, "max_per_host": max_per_host}
    return session.call(session.scheduler.create_server_group, ServerGroup.of(id=str(uuid.uuid4()), **values))


def read_groups(session: Session) -> list[Group]:
    recorded = list(session.list_all(session.scheduler.list_server_groups, "groups"))
    claims = _claims_by_group(session)
    return [_with_claims(group, claims) for group in recorded]


def find_group(session: Session, text: str) -> Group:
    """Return the group with this id or name. Raises NotFound; InvalidRequest if the name is ambiguous."""
    return _with_claims(_find(session, text), _claims_by_group(session))


def find_id(session: Session, text: str) -> str:
    """Return the group's id without reading claims; otherwise like ``find_group``."""
    return str(_find(session, text).id)


def members_of(session: Session, text: str) -> list[str]:
    uuids = [claim["consumer"] for claim in find_group(session, text).claims or ()]
    if not uuids:
        raise errors.NotFound(what=f"A member of server group {text}")
    return uuids


def affinity_batches(session: Session, host: str, servers: Sequence[Any]) -> list[list[Any]]:
    """Split a service host's servers into batches that must move together: an affinity group or one server."""
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


def _find(session: Session, text: str) -> "ServerGroup":
    try:
        group: ServerGroup = session.call(session.scheduler.get_server_group, text)
        return group
    except (errors.NotFound, errors.InvalidName):
        groups = session.list_all(session.scheduler.list_server_groups, "groups", project=session.project)
        named: list[ServerGroup] = [group for group in groups if group.name == text]
    if len(named) > 1:
        raise errors.InvalidRequest(why=f"{len(named)} server groups are named {text}: use an id")
    if not named:
        raise errors.NotFound(what=f"Server group {text}")
    return named[0]


def _with_claims(group: "ServerGroup", claims_by_group: Mapping[str, Claims] | None) -> Group:
    claims = None if claims_by_group is None else claims_by_group.get(group.id, ())
    return Group(
        group.id,
        group.name,
        group.project,
        group.policy,
        group.max_per_host,
        claims=None if claims is None else [claim for claim in claims if claim["type"] != MIGRATION],
        sources=[claim for claim in claims or () if claim["type"] == MIGRATION],
    )


def _claims_by_group(session: Session) -> dict[str, Claims] | None:
    """Return members' claims by group id; None if the caller may not read claims."""
    claims: dict[str, list[Mapping[str, Any]]] = {}
    try:
        for claim in _claims_of_members(session):
            claims.setdefault(claim["group_id"], []).append(claim)
    except errors.CallerRefused:
        return None
    return dict(claims)


def _claims_of_members(session: Session, host: str | None = None) -> Iterator[Mapping[str, Any]]:
    for name in session.partitions():
        for claim in session.list_claims(name, host=host):
            if claim.get("group_id") is not None:
                yield claim
