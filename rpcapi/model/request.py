# SPDX-License-Identifier: Apache-2.0
"""Is a request one that anybody could serve? Asked at the edge, and again by each service before it acts."""

import re
import uuid as uuid_module
from typing import Any

from rpcapi import errors
from rpcapi.model.checks import amounts, attachments, documents, groups, hints, places, server_group, topology, traits
from rpcapi.model.checks.text import check_text, refuse, shown
from rpcapi.objects.request_spec import RequestSpec

SERVICES = ("compute", "volume", "network")

_CONSUMER_TYPE = re.compile(r"[A-Z0-9_]{1,255}")
_DRIVER = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def check_spec(spec: Any) -> None:
    """Raise when no host could ever satisfy ``spec``, or when it contradicts itself; it is not changed.

    Raises MalformedObject for what is no RequestSpec, UnknownResourceClass, UnknownTrait, InvalidName, and
    InvalidSpec, with a sentence, for all else.
    """
    if not isinstance(spec, RequestSpec):
        raise errors.MalformedObject(name="RequestSpec", why=f"it is of type {type(spec).__name__}")
    _check_providers(spec)
    check_text("flavor", spec.flavor)
    check_text("availability zone", spec.availability_zone)
    places.check_hosts(spec.ignore_hosts, spec.force_hosts)
    server_group.check(spec.group_id, spec.group_policy, spec.group_max_per_host)
    _check_documents(spec)
    if spec.volumes or spec.ports:
        attachments.check(spec.volumes, spec.ports, spec.groups)
    if not _CONSUMER_TYPE.fullmatch(spec.consumer_type):
        raise refuse("the consumer type must be 1 to 255 of A-Z, 0-9 and '_', such as 'INSTANCE'")
    if spec.service not in SERVICES:
        raise refuse(f"there is no service {shown(spec.service)} to place for; known: {', '.join(SERVICES)}")
    if spec.driver is not None and not _DRIVER.fullmatch(spec.driver):
        raise refuse(f"a driver's name has 1 to 64 letters, digits, '_', '.' and '-'; {shown(spec.driver)} has not")


def _check_providers(spec: RequestSpec) -> None:
    """Check the group without a suffix, and all others: most requests have little of it."""
    amounts.check(spec.resources)
    if not spec.resources and not spec.groups:
        raise refuse(f"it must ask for 1 to {amounts.MAX_CLASSES} resource classes, not 0")
    asked = [*spec.required_traits, *spec.any_traits, *spec.forbidden_traits]
    if asked and not spec.resources:
        raise refuse("it asks for traits of who gives no resources; those of the host itself are root_required")
    if asked:
        traits.check(spec.required_traits, spec.any_traits, spec.forbidden_traits)
    if spec.root_required or spec.root_forbidden:
        traits.check(spec.root_required, (), spec.root_forbidden, " of the root")
    if spec.member_of or spec.forbidden_aggregates:
        places.check_aggregates(spec.member_of, spec.forbidden_aggregates)
    places.check_tree(spec.in_tree)
    if spec.groups != {} or spec.groups_policy is not None or spec.same_subtree:
        groups.check(spec.groups, spec.groups_policy, spec.same_subtree)


def _check_documents(spec: RequestSpec) -> None:
    """Check the fields that may hold whatever JSON can hold; {} is none of it."""
    if spec.hints != {}:
        hints.check(spec.hints)
    if spec.numa != {}:
        topology.check(spec.numa, spec.groups)
    if spec.image != {}:
        documents.check_image(spec.image)
    if spec.extra_specs != {}:
        documents.check_extra_specs(spec.extra_specs)


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
