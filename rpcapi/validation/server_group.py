# SPDX-License-Identifier: Apache-2.0
"""Validation of a request's server group."""

from typing import Any

from rpcapi.resources import names
from rpcapi.resources.claims import GroupPolicy
from rpcapi.resources.inventory import MAX_AMOUNT
from rpcapi.validation.text import abbreviate, invalid_spec


def check(group_id: str | None, policy: str | None, max_per_host: Any) -> None:
    """Raise InvalidSpec or InvalidName for an incomplete group, unknown policy or wrong maximum per host."""
    if (group_id is None) != (policy is None):
        raise invalid_spec("a server group needs both its id and its policy")
    if group_id is None:
        return
    names.canonical(group_id)
    policies = [str(group_policy) for group_policy in GroupPolicy]
    if policy not in policies:
        raise invalid_spec(f"unknown group policy {abbreviate(policy)}; known: {', '.join(policies)}")
    if not 1 <= max_per_host <= MAX_AMOUNT:
        raise invalid_spec(f"a group's max per host must be an integer of at least 1, not {max_per_host}")
    if policy != GroupPolicy.ANTI_AFFINITY and max_per_host != 1:
        raise invalid_spec(f"max per host is allowed for anti-affinity only, not for {policy}")
