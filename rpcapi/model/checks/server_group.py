# SPDX-License-Identifier: Apache-2.0
"""The server group of a request."""

from typing import Any

from rpcapi.model import names
from rpcapi.model.checks.text import refuse, shown
from rpcapi.model.claims import GroupPolicy
from rpcapi.model.inventory import MAX_AMOUNT


def check(group_id: str | None, policy: str | None, most: Any) -> None:
    """Raise InvalidSpec or InvalidName for a group that cannot be: half told, unknown, or bounded where it is not."""
    if (group_id is None) != (policy is None):
        raise refuse("a server group needs both its id and its policy")
    if group_id is None:
        return
    names.canonical(group_id)
    known = [str(each) for each in GroupPolicy]
    if policy not in known:
        raise refuse(f"there is no group policy {shown(policy)}; known: {', '.join(known)}")
    if not 1 <= most <= MAX_AMOUNT:
        raise refuse(f"a group's max per host must be an integer from 1 up, not {most}")
    if policy != GroupPolicy.ANTI_AFFINITY and most != 1:
        raise refuse(f"max per host belongs to anti-affinity, not to {policy}")
