# SPDX-License-Identifier: Apache-2.0
"""Is the host one that the store has ruled out for this request's server group?"""

from collections.abc import Iterator

from scheduler_svc.filters.sieve import Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.view import View

NAME = "ServerGroupFilter"
REASON = "server group policy"


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass that the claim script has not refused for the group in an earlier round.

    Only the store knows where a group's members are, so that its policy cannot be raced; this keeps a decision from
    offering it the same hosts again.
    """
    if request.ruled_out:
        yield Sieve(REASON, ~view.named(request.ruled_out))
