# SPDX-License-Identifier: Apache-2.0
"""Validation of the arguments of store verbs."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from rpcapi import errors
from rpcapi.resources import names
from rpcapi.resources.claims import MAX_INSTANCES, ClaimRole, GroupPolicy
from rpcapi.resources.inventory import MAX_AMOUNT
from scheduler_svc.core.records import Allocations, Amounts, ClaimBatch, ClaimGroup, ClaimRef, GroupMembers, Intent
from scheduler_svc.store.records import RunningClaim

MAX_INTENTS = MAX_INSTANCES  # intents per batch, enough for all instances of a request
MAX_CANDIDATES = 16  # candidates per intent
# The totals per batch limit a script's run time.
MAX_BATCH_CANDIDATES = 8 * MAX_INTENTS
MAX_BATCH_PROVIDERS = 64 * MAX_INTENTS  # providers in the allocations of all candidates
MAX_CLASSES = 32  # resource classes per provider and claim
MAX_PROVIDERS = 64  # providers per claim
MAX_REFS = 1000  # claims per confirm, abort or release
MAX_PAGE = 1000  # claims or documents per page
MAX_MARKER = 3 * names.MAX_LENGTH + 32  # length of "node|name of an unverified claim", the longest marker
MAX_STATE = 64 * 1024  # bytes per host state document
MAX_AGGREGATE = 1024 * 1024  # bytes per aggregate, which may have 10,000 members
MAX_NAMED_HOSTS = 1000  # hosts per call of ``name_hosts``
MAX_MEMBERS = 1000  # consumers, and hosts, that a batch names as members of its group
MAX_TTL_MS = 24 * 3600 * 1000
MAX_NUMBER = 2**53 - 1  # largest integer that Lua represents exactly

_CLASS = re.compile(r"[A-Z][A-Z0-9_]{0,254}")


def refuse(why: str) -> errors.InvalidRequest:
    return errors.InvalidRequest(why=why)


def check_batch(batch: ClaimBatch) -> None:
    check_number("epoch", batch.epoch, 0, MAX_NUMBER)
    check_number("position", batch.position, 0, MAX_NUMBER)
    check_number("claim lifetime in milliseconds", batch.ttl_ms, 1, MAX_TTL_MS)
    check_number("number of alternates", batch.alternates, 0, MAX_CANDIDATES)
    for what in ("request_id", "project", "user", "consumer_type"):
        check_text(what, getattr(batch, what))
    if not 1 <= len(batch.intents) <= MAX_INTENTS:
        raise refuse(f"a batch must contain 1 to {MAX_INTENTS} consumers, got {len(batch.intents)}")
    candidate_count = sum(len(intent.candidates) for intent in batch.intents)
    if candidate_count > MAX_BATCH_CANDIDATES:
        raise refuse(f"a batch may contain at most {MAX_BATCH_CANDIDATES} candidates in all, got {candidate_count}")
    provider_count = sum(
        len(candidate.allocations or ()) for intent in batch.intents for candidate in intent.candidates
    )
    if provider_count > MAX_BATCH_PROVIDERS:
        raise refuse(
            f"the candidates of a batch may name at most {MAX_BATCH_PROVIDERS} providers in all, got {provider_count}"
        )
    consumers = {intent.consumer for intent in batch.intents}
    if len(consumers) < len(batch.intents):
        raise refuse("a batch must not contain the same consumer twice")
    if batch.group is not None:
        _check_group(batch.group)
    _check_members(batch.group_members)
    if batch.resources:
        _check_amounts("the request", batch.resources)
    for intent in batch.intents:
        _check_intent(intent, batch.resources)


def is_valid_batch(batch: ClaimBatch) -> bool:
    try:
        check_batch(batch)
    except errors.InvalidRequest:
        return False
    return True


def _check_intent(intent: Intent, resources: Amounts) -> None:
    check_ref(ClaimRef(intent.consumer, intent.attempt))
    if intent.replaces is not None:
        check_number("attempt to replace", intent.replaces, 1, intent.attempt - 1)
    if intent.migration is not None:
        _check_consumer(intent.migration)
        check_number("attempt at the source", intent.source_attempt, 1, intent.attempt - 1)
    if len(intent.candidates) > MAX_CANDIDATES:
        raise refuse(f"a consumer may have at most {MAX_CANDIDATES} candidates, got {len(intent.candidates)}")
    check_number("number of near candidates", intent.near, 1, MAX_CANDIDATES)
    for candidate in intent.candidates:
        check_name(candidate.host)
        check_number("position of a candidate", candidate.sums_position, 0, MAX_NUMBER)
        for limit in candidate.limits:
            if limit is not None:
                check_number("limit of a candidate", limit, 0, MAX_NUMBER)
        if candidate.allocations is not None:
            check_allocations(candidate.allocations)
        elif not resources:
            raise refuse(f"candidate {candidate.host!r} has no allocations, and the request no resources")


def check_allocations(allocations: Allocations) -> None:
    if not isinstance(allocations, Mapping):
        raise refuse(f"allocations must be amounts by provider, not of type {type(allocations).__name__}")
    if not 1 <= len(allocations) <= MAX_PROVIDERS:
        raise refuse(f"a claim must be on 1 to {MAX_PROVIDERS} providers, got {len(allocations)}")
    for provider, amounts in allocations.items():
        check_name(provider)
        _check_amounts(provider, amounts)


def check_running(host: str, running: Sequence[RunningClaim]) -> None:
    if len({(claim.consumer, claim.attempt) for claim in running}) < len(running):
        raise refuse(f"the audit of {host!r} contains the same claim twice")
    for claim in running:
        check_ref(ClaimRef(claim.consumer, claim.attempt))
        check_name(claim.host)
        if names.host_of(claim.host) != host:
            raise refuse(f"the audit of {host!r} contains {claim.host!r}, a node of another host")
        check_allocations(claim.allocations)
        if claim.role is ClaimRole.DESTINATION:
            check_number("attempt at the source", claim.source_attempt, 1, claim.attempt - 1)
        if claim.migration == claim.consumer or (claim.migration is None) != (claim.role is ClaimRole.ONLY):
            raise refuse(f"the audit of {host!r} names {claim.migration!r} as the migration of {claim.consumer!r}")
        for what in ("type", "project", "user", "request_id"):
            check_text(what, getattr(claim, what))
        if claim.group is not None:
            _check_group(claim.group)


def check_consumers(consumers: Sequence[str]) -> None:
    if len(consumers) > MAX_REFS:
        raise refuse(f"a call may contain at most {MAX_REFS} consumers, got {len(consumers)}; split it")
    for consumer in consumers:
        _check_consumer(consumer)


def check_refs(refs: Sequence[ClaimRef]) -> None:
    if len(refs) > MAX_REFS:
        raise refuse(f"a call may contain at most {MAX_REFS} claims, got {len(refs)}; split it")
    for ref in refs:
        check_ref(ref)


def check_abort(
    refs: Sequence[ClaimRef], host: str | None, destinations: Sequence[str | None] | None
) -> Sequence[str | None]:
    """Return a destination per claim, by default ``host``. Raises InvalidRequest or InvalidName."""
    check_refs(refs)
    if host is not None:
        check_service_host(host)
    if destinations is None:
        return [host] * len(refs)
    if len(destinations) != len(refs):
        raise refuse(f"a call with {len(refs)} claims needs as many destinations, got {len(destinations)}")
    for destination in destinations:
        if destination not in (None, ""):
            check_service_host(destination)
    return destinations


def check_moves(refs: Sequence[ClaimRef], migrations: Sequence[str]) -> None:
    check_refs(refs)
    check_consumers(migrations)
    if len(migrations) != len(refs):
        raise refuse(f"a call with {len(refs)} claims needs as many migrations, got {len(migrations)}")


def check_ref(ref: ClaimRef) -> None:
    _check_consumer(ref.consumer)
    check_number("attempt", ref.attempt, 1, MAX_AMOUNT)


def check_service_host(host: Any) -> None:
    """Raise InvalidName unless ``host`` is a valid name without a node part, and not API_HOST."""
    check_name(host)
    if names.SEPARATOR in host:
        raise errors.InvalidName(name=host, why="it must be a service host, not one of its nodes")
    if host == names.API_HOST:
        raise errors.InvalidName(name=host, why="it is reserved for the providers of the Placement API")


def check_name(name: Any) -> None:
    if not isinstance(name, str):
        raise errors.InvalidName(name=name, why="it is not a string")
    _canonical(name)


def _check_consumer(consumer: Any) -> None:
    """Raise InvalidName unless ``consumer`` is a valid name. Not cached, because consumers rarely repeat."""
    if not isinstance(consumer, str):
        raise errors.InvalidName(name=consumer, why="it is not a string")
    names.canonical(consumer)


_canonical = lru_cache(maxsize=1 << 17)(names.canonical)  # cached: every batch repeats host names


def check_number(what: str, value: Any, least: int, most: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise refuse(f"the {what} must be an integer from {least} to {most}, got {value!r:.80}")


def check_page(limit: Any, marker: Any = None) -> None:
    check_number("limit of a page", limit, 1, MAX_PAGE)
    if marker is not None:
        check_text("marker", marker, MAX_MARKER)


def check_text(what: str, value: Any, most: int = names.MAX_LENGTH) -> None:
    """Raise InvalidRequest unless ``value`` is a string of up to ``most`` characters that every backend can store."""
    if not isinstance(value, str) or len(value) > most:
        raise refuse(f"{what} must be a string of at most {most} characters, got {value!r:.80}")
    if "\0" in value or not _is_unicode(value):
        raise refuse(f"{what} contains a character that cannot be stored: {value!a:.80}")


def _is_unicode(text: str) -> bool:
    """Return whether the string encodes as UTF-8, which unlike JSON allows no unpaired surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_resource_class(name: Any) -> None:
    if not isinstance(name, str) or not _CLASS.fullmatch(name):
        raise refuse(f"{name!r:.80} is not a resource class")


def _check_amounts(where: str, amounts: Mapping[str, Any]) -> None:
    if not isinstance(amounts, Mapping):
        raise refuse(f"{where!r} must have amounts by resource class, not of type {type(amounts).__name__}")
    if not 1 <= len(amounts) <= MAX_CLASSES:
        raise refuse(f"{where!r} must have 1 to {MAX_CLASSES} resource classes, got {len(amounts)}")
    for resource_class, amount in amounts.items():
        check_resource_class(resource_class)
        check_number(f"amount of {resource_class} at {where}", amount, 1, MAX_AMOUNT)


def _check_group(group: ClaimGroup) -> None:
    check_name(group.id)
    if not isinstance(group.policy, GroupPolicy):
        raise refuse(f"{group.policy!r} is not a group policy")
    check_number("group's max_per_host", group.max_per_host, 1, MAX_AMOUNT)


def _check_members(members: GroupMembers) -> None:
    for what, listed in (("members", members.consumers), ("hosts", members.hosts)):
        if len(listed) > MAX_MEMBERS:
            raise refuse(f"a server group may name at most {MAX_MEMBERS} {what}, got {len(listed)}")
    for consumer in members.consumers:
        _check_consumer(consumer)
    for host in members.hosts:
        check_name(host)


def check_state(document: Any, most: int = MAX_STATE) -> None:
    if not isinstance(document, Mapping):
        raise refuse("a host state document must be a JSON object")
    try:
        text = json.dumps(document, allow_nan=False)
        is_unicode = _is_unicode(json.dumps(document, ensure_ascii=False))
    except (TypeError, ValueError) as error:
        raise refuse(f"a host state document must be plain JSON: {error}") from error
    if not is_unicode:
        raise refuse("a host state document must be valid Unicode: a string in it has an unpaired surrogate")
    size = len(text)
    if size > most:
        raise refuse(f"a host state document may have at most {most} bytes here, got {size}")


def check_group_home(group_id: str, partition: str, ttl_ms: int) -> None:
    check_name(group_id)
    check_name(partition)
    check_number("lifetime in milliseconds", ttl_ms, 1, MAX_TTL_MS)


def check_named_hosts(hosts: Sequence[str]) -> None:
    if len(hosts) > MAX_NAMED_HOSTS:
        raise errors.InvalidRequest(why=f"at most {MAX_NAMED_HOSTS} hosts may be named at once, got {len(hosts)}")
    for host in hosts:
        check_service_host(host)
