# SPDX-License-Identifier: Apache-2.0
"""Reasons and errors of refusals that may pass by themselves.

A transient reason counts only hosts that meet all other conditions. A request with one of them is decided again within
its own time; any other refusal is final. An undecided search for allocations is not in the list: the decision itself
searches again with a larger budget, and its refusal is final.
"""

from rpcapi import errors

# Seconds for which a reason counts as transient; hosts that are down longer need an operator.
SECONDS = 60.0

# Reasons in a host's state. After SECONDS a worker reports a permanent reason instead.
JUST_DOWN = "service down for less than a minute"
NOT_AUDITED = "not audited in this epoch"  # the host is up, and accepts claims after its audit
PARTITION_JUST_AWAY = "partition unavailable for less than a minute"
COMPUTE_JUST_DOWN = "compute service down for less than a minute"  # a host of Nova
CELL_JUST_OLD = "state of the cell too old for less than a minute"
NOVA_JUST_OLD = "state of Nova too old for less than a minute"  # Nova's bridge or API database is away.
HOST_REASONS = frozenset({JUST_DOWN, NOT_AUDITED, PARTITION_JUST_AWAY, COMPUTE_JUST_DOWN, CELL_JUST_OLD, NOVA_JUST_OLD})

# Reasons of one decision; the next decision sees the change.
CLAIMED_MEANWHILE = "claimed by others meanwhile"
CHANGED_MEANWHILE = "changed meanwhile"
DECISION_REASONS = frozenset({CLAIMED_MEANWHILE, CHANGED_MEANWHILE})

# Errors without a decision: the store, a worker's table or the hosts' audits must come first.
ERRORS = (errors.Unavailable, errors.ClaimClosed)


def retry_seconds(error: BaseException, own_seconds: float) -> float:
    """Return for how many seconds since its first refusal a request is decided again; 0 if the error is final.

    ``own_seconds`` is the time of the request itself, since then.
    """
    if isinstance(error, ERRORS):
        return own_seconds
    if not isinstance(error, errors.NoValidHost):
        return 0.0
    present = {reason for reason, hosts in (error.kwargs.get("reasons") or {}).items() if hosts}
    if not present.isdisjoint(HOST_REASONS):
        return own_seconds
    return 0.0 if present.isdisjoint(DECISION_REASONS) else min(SECONDS, own_seconds)


def may_pass(error: BaseException) -> bool:
    return retry_seconds(error, SECONDS) > 0
