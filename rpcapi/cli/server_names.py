# SPDX-License-Identifier: Apache-2.0
"""Server names: numbering of new servers, and lookup of uuids."""

from collections.abc import Sequence

from rpcapi import errors
from rpcapi.admin import Session
from rpcapi.cli.command import CommandFailed


def number_names(name: str | None, count: int) -> list[str]:
    """Return NAME for one new server, NAME-1, NAME-2, ... for several, [] without a name."""
    if name is None:
        return []
    return [name] if count == 1 else [f"{name}-{number}" for number in range(1, count + 1)]


def resolve_uuids(session: Session, servers: Sequence[str]) -> list[str]:
    """Return the uuids of servers (uuids or names; deleted ones last). Raises UnknownInstance, CommandFailed."""
    from rpcapi.validation.instances import canonical_uuid, is_uuid  # noqa: PLC0415 - lazy, see session

    servers = [canonical_uuid(text) for text in servers]
    names = {text for text in servers if not is_uuid(text)}
    uuids_by_name = _list_uuids(session, names) if names else {}
    uuids = [_only_uuid(text, uuids_by_name.get(text, [])) if text in names else text for text in servers]
    return list(dict.fromkeys(uuids))


def _list_uuids(session: Session, names: set[str]) -> dict[str, list[str]]:
    existing: dict[str, list[str]] = {}
    deleted: dict[str, list[str]] = {}
    for instance in session.list_instances(deleted=True):
        matches = deleted if instance.status == "DELETED" else existing
        for text in names & {instance.uuid, instance.name}:
            matches.setdefault(text, []).append(instance.uuid)
    return {**deleted, **existing}


def _only_uuid(name: str, uuids: Sequence[str]) -> str:
    if not uuids:
        raise errors.UnknownInstance(uuid=name)
    if len(uuids) > 1:
        listed = ", ".join(uuids[:5]) + (", ..." if len(uuids) > 5 else "")
        raise CommandFailed(f"{len(uuids)} servers have the name {name!r}; use a uuid: {listed}")
    return uuids[0]
