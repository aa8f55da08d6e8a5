# SPDX-License-Identifier: Apache-2.0
"""Server groups and their members."""

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rpcapi import errors
from rpcapi.admin import Session
from rpcapi.resources.claims import ClaimRole, GroupPolicy
from rpcapi.resources.statuses import WITHOUT_CLAIM

if TYPE_CHECKING:
    from rpcapi.objects import ServerGroup


class Member(NamedTuple):
    """Server of a group on a node; ``state`` is its claim's for operators, the server's status for tenants."""

    server: str
    host: str
    state: str


class Group(NamedTuple):
    """Server group with its members on hosts; moving members also have ``sources``, which tenants do not see."""

    id: str
    name: str
    project: str
    policy: str
    max_per_host: int
    members: Sequence[Member]
    sources: Sequence[Member]

    @property
    def hosts(self) -> dict[str, int]:
        return dict(sorted(Counter(member.host for member in self.members).items()))

    @property
    def state(self) -> str:
        """``split`` for an affinity group on several nodes, ``moving`` during migrations, otherwise ``ok``."""
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
    return _with_members(session, recorded)


def find_group(session: Session, text: str) -> Group:
    """Return the group with this id or name. Raises NotFound; InvalidRequest if the name is ambiguous."""
    (group,) = _with_members(session, [_find(session, text)])
    return group


def find_id(session: Session, text: str) -> str:
    """Return the group's id without its members; otherwise like ``find_group``."""
    return str(_find(session, text).id)


def members_of(session: Session, text: str) -> list[str]:
    uuids = [member.server for member in find_group(session, text).members]
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
    if not text:  # groups of Nova have no name
        raise errors.InvalidRequest(why="the id or name of a server group is empty")
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


def _with_members(session: Session, groups: Sequence["ServerGroup"]) -> list[Group]:
    members: defaultdict[str, list[Member]] = defaultdict(list)
    sources: defaultdict[str, list[Member]] = defaultdict(list)
    try:
        for claim in _claims_of_members(session):
            ends = sources if claim["role"] == ClaimRole.SOURCE else members
            ends[claim["group_id"]].append(Member(claim["consumer"], claim["host"], claim["state"]))
    except errors.CallerRefused:  # a tenant may read its own servers only
        for server in session.list_instances():
            if server.group_id is not None and server.host is not None and server.status not in WITHOUT_CLAIM:
                members[server.group_id].append(Member(server.uuid, server.host, server.status))
    return [
        Group(
            group.id,
            group.name,
            group.project,
            group.policy,
            group.max_per_host,
            members=members[group.id],
            sources=sources[group.id],
        )
        for group in groups
    ]


def _claims_of_members(session: Session, host: str | None = None) -> Iterator[Mapping[str, Any]]:
    for name in session.partitions():
        for claim in session.list_claims(name, host=host):
            if claim.get("group_id") is not None:
                yield claim
