# SPDX-License-Identifier: Apache-2.0
"""Is a request one that anybody could serve? Asked at the edge, and again by each service before it acts."""

import json
import re
import uuid as uuid_module
from collections.abc import Sequence
from typing import Any

from rpcapi import errors
from rpcapi.model import names, vocabulary
from rpcapi.model.claims import GroupPolicy
from rpcapi.model.inventory import MAX_AMOUNT
from rpcapi.objects.request_spec import RequestSpec

MAX_CLASSES = 32  # resource classes of one request
MAX_TRAITS = 100  # required and forbidden together
MAX_HOSTS = 1000  # names in ignore_hosts, and in force_hosts
MAX_HINTS = 50
MAX_HINT_BYTES = 16 * 1024  # all hints as JSON
MAX_TEXT = 255  # a zone, a flavor, a group, a hint's key

_CONSUMER_TYPE = re.compile(r"[A-Z0-9_]{1,255}")


def check_spec(spec: Any) -> None:
    """Raise when no host could ever satisfy ``spec``, or when it contradicts itself; it is not changed.

    Raises MalformedObject for what is no RequestSpec, UnknownResourceClass, UnknownTrait, InvalidName, and
    InvalidSpec, with a sentence, for all else.
    """
    if not isinstance(spec, RequestSpec):
        raise errors.MalformedObject(name="RequestSpec", why=f"it is of type {type(spec).__name__}")
    _check_resources(spec.resources)
    _check_traits(spec.required_traits, spec.forbidden_traits)
    _check_text("flavor", spec.flavor)
    _check_text("availability zone", spec.availability_zone)
    _check_hosts(spec.ignore_hosts, spec.force_hosts)
    _check_hints(spec.hints)
    _check_group(spec.group_id, spec.group_policy, spec.group_max_per_host)
    if not _CONSUMER_TYPE.fullmatch(spec.consumer_type):
        raise errors.InvalidSpec(why="the consumer type must be 1 to 255 of A-Z, 0-9 and '_', such as 'INSTANCE'")


def check_count(count: Any, most: int) -> None:
    """Raise InvalidCount unless ``count`` is an integer from 1 to ``most`` ([rpc] max_instances)."""
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= most:
        error = errors.InvalidCount(count=count, most=most)
        if isinstance(count, int) and count > most:
            raise errors.InvalidCount(f"{error}; split it", count=count, most=most)
        raise error


def check_uuid(text: Any) -> None:
    """Raise InvalidName unless ``text`` is a uuid in its canonical form: lower case, with hyphens."""
    try:
        good = isinstance(text, str) and str(uuid_module.UUID(text)) == text
    except ValueError:
        good = False
    if not good:
        why = "it must be a uuid in lower case with hyphens"
        raise errors.InvalidName(f"{str(text)[:60]!r} cannot name an instance: {why}")


def check_uuids(uuids: Any, most: int) -> None:
    """Raise unless ``uuids`` is a list of 1 to ``most`` different uuids.

    Raises InvalidCount, InvalidName, and InvalidRequest for what is no list or names an instance twice.
    """
    if not isinstance(uuids, (list, tuple)):
        raise errors.InvalidRequest(why=f"the uuids must be a list, not of type {type(uuids).__name__}")
    check_count(len(uuids), most)
    seen = set()
    for text in uuids:
        check_uuid(text)
        if text in seen:
            raise errors.InvalidRequest(why=f"instance {text} is named twice")
        seen.add(text)


def _check_resources(resources: dict[str, int]) -> None:
    if not 1 <= len(resources) <= MAX_CLASSES:
        raise errors.InvalidSpec(why=f"it must ask for 1 to {MAX_CLASSES} resource classes, not {len(resources)}")
    for resource_class, amount in resources.items():
        vocabulary.check_resource_class(resource_class)
        if not 1 <= amount <= MAX_AMOUNT:
            raise errors.InvalidSpec(
                why=f"the amount of {resource_class} must be an integer from 1 to {MAX_AMOUNT}, not {amount}"
            )


def _check_traits(required: Sequence[str], forbidden: Sequence[str]) -> None:
    if len(required) + len(forbidden) > MAX_TRAITS:
        raise errors.InvalidSpec(why=f"it names more than {MAX_TRAITS} traits")
    for name in (*required, *forbidden):
        vocabulary.check_trait(name)
    both = sorted(set(required) & set(forbidden))
    if both:
        raise errors.InvalidSpec(why=f"it requires and forbids {', '.join(both)}: no host can have that")


def _check_text(what: str, text: str | None) -> None:
    if text is None:
        return
    if not 1 <= len(text) <= MAX_TEXT or not text.isprintable() or text != text.strip():
        raise errors.InvalidSpec(why=f"the {what} must be 1 to {MAX_TEXT} printable characters, not {text[:40]!r}")


def _check_hosts(ignored: Sequence[str], forced: Sequence[str]) -> None:
    for what, hosts in (("ignore_hosts", ignored), ("force_hosts", forced)):
        if len(hosts) > MAX_HOSTS:
            raise errors.InvalidSpec(why=f"{what} holds more than {MAX_HOSTS} names")
        for name in hosts:
            names.canonical(name)
    if forced and all(any(names.matches(name, avoided) for avoided in set(ignored)) for name in set(forced)):
        raise errors.InvalidSpec(why="every host in force_hosts is also in ignore_hosts: none is left")


def _check_hints(hints: Any) -> None:
    if not isinstance(hints, dict) or not all(isinstance(key, str) for key in hints):
        raise errors.InvalidSpec(why="the hints must be a mapping with text as keys")
    if len(hints) > MAX_HINTS:
        raise errors.InvalidSpec(why=f"it holds more than {MAX_HINTS} hints")
    for key in hints:
        _check_text("key of a hint", key)
    size = len(json.dumps(hints))
    if size > MAX_HINT_BYTES:
        raise errors.InvalidSpec(why=f"its hints take {size} bytes; at most {MAX_HINT_BYTES} are carried")


def _check_group(group_id: str | None, policy: str | None, most: int) -> None:
    if (group_id is None) != (policy is None):
        raise errors.InvalidSpec(why="a server group needs both its id and its policy")
    if group_id is None:
        return
    names.canonical(group_id)
    known = [str(each) for each in GroupPolicy]
    if policy not in known:
        raise errors.InvalidSpec(why=f"there is no group policy {str(policy)[:40]!r}; known: {', '.join(known)}")
    if not 1 <= most <= MAX_AMOUNT:
        raise errors.InvalidSpec(why=f"a group's max per host must be an integer from 1 up, not {most}")
    if policy == GroupPolicy.AFFINITY and most != 1:
        raise errors.InvalidSpec(why="max per host belongs to anti-affinity: affinity puts all on one host")
