# SPDX-License-Identifier: Apache-2.0
"""Rules of server groups."""

from rpcapi.resources.claims import GroupPolicy
from rpcapi.validation import rules
from rpcapi.validation.text import invalid_spec

_POLICY = rules.one_of(tuple(GroupPolicy))
_LIMIT = rules.integer()


def check_rule(policy: str, max_per_host: int) -> None:
    """Raise InvalidSpec for an unknown policy, or a limit without anti-affinity."""
    _POLICY("group_policy", policy)
    _LIMIT("group_max_per_host", max_per_host)
    if policy != GroupPolicy.ANTI_AFFINITY and max_per_host != 1:
        raise invalid_spec(f"group_max_per_host is allowed for anti-affinity only, not for {policy}")
