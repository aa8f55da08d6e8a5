# SPDX-License-Identifier: Apache-2.0
"""Validation of request specs, by the client and again by every service."""

import re
from typing import Any

from rpcapi import errors
from rpcapi.objects.request_spec import RequestSpec
from rpcapi.validation import amounts, attachments, documents, groups, hints, places, server_group, topology, traits
from rpcapi.validation.text import abbreviate, check_text, invalid_spec

SERVICES = ("compute", "volume", "network")

_CONSUMER_TYPE = re.compile(r"[A-Z0-9_]{1,255}")
_DRIVER = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def check_spec(spec: Any) -> None:
    """Raise an error if ``spec`` is invalid, contradictory, or unsatisfiable on any host.

    Raises MalformedObject if it is no RequestSpec; UnknownResourceClass, UnknownTrait or InvalidName; otherwise
    InvalidSpec.
    """
    if not isinstance(spec, RequestSpec):
        raise errors.MalformedObject(name="RequestSpec", why=f"it is of type {type(spec).__name__}")
    _check_providers(spec)
    check_text("flavor", spec.flavor)
    check_text("availability zone", spec.availability_zone)
    places.check_hosts(spec.ignore_hosts, spec.force_hosts)
    if spec.requested_destination != {}:
        places.check_destination(spec.requested_destination)
    server_group.check(spec.group_id, spec.group_policy, spec.group_max_per_host)
    _check_documents(spec)
    if spec.volumes or spec.ports:
        attachments.check(spec.volumes, spec.ports, spec.groups)
    if not _CONSUMER_TYPE.fullmatch(spec.consumer_type):
        raise invalid_spec("the consumer type must be 1 to 255 characters of A-Z, 0-9 and '_', such as 'INSTANCE'")
    if spec.service not in SERVICES:
        raise invalid_spec(f"unknown service {abbreviate(spec.service)}; known: {', '.join(SERVICES)}")
    if spec.driver is not None and not _DRIVER.fullmatch(spec.driver):
        raise invalid_spec(
            f"a driver name must be 1 to 64 letters, digits, '_', '.' or '-', not {abbreviate(spec.driver)}"
        )


def _check_providers(spec: RequestSpec) -> None:
    """Check all request groups. Groups and traits are rare, so empty ones are skipped."""
    amounts.check(spec.resources)
    if not spec.resources and not spec.groups:
        raise invalid_spec(f"it must request 1 to {amounts.MAX_CLASSES} resource classes, got 0")
    traits_by_group = [*spec.required_traits, *spec.any_traits, *spec.forbidden_traits]
    if traits_by_group and not spec.resources:
        raise invalid_spec(
            "the group without a suffix has traits but no resources; use root_required for traits of the host"
        )
    if traits_by_group:
        traits.check(spec.required_traits, spec.any_traits, spec.forbidden_traits)
    if spec.root_required or spec.root_forbidden:
        traits.check(spec.root_required, (), spec.root_forbidden, " of the root")
    if spec.member_of or spec.forbidden_aggregates:
        places.check_aggregates(spec.member_of, spec.forbidden_aggregates)
    places.check_tree(spec.in_tree)
    if spec.groups != {} or spec.groups_policy is not None or spec.same_subtree:
        groups.check(spec.groups, spec.groups_policy, spec.same_subtree)


def _check_documents(spec: RequestSpec) -> None:
    """Check the fields of free-form JSON; {} means not set."""
    if spec.hints != {}:
        hints.check(spec.hints)
    if spec.numa != {}:
        topology.check(spec.numa, spec.groups)
    if spec.image != {}:
        documents.check_image(spec.image)
    if spec.extra_specs != {}:
        documents.check_extra_specs(spec.extra_specs)
