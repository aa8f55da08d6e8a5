# SPDX-License-Identifier: Apache-2.0
"""Results of attempts, reported by hosts."""

from typing import NamedTuple

from rpcapi.resources.statuses import AttemptResult

ACTIVE, STOPPED, INCOMING, REFUSED, FAILED, GONE = OUTCOMES = tuple(AttemptResult)
ENDED_BY_REQUEST = (GONE, FAILED)  # FAILED: the guest was incoming and never ran


class BuildResult(NamedTuple):
    """Reported outcome of one attempt.

    Attributes:
        copy_number, copy_phase: Last copy from the host, as in rpcapi.objects.copy; 0 if none.
        transition: Number of the last transition that the host followed.
        migration: Migration for which the host powered the guest off; "" if none.
    """

    uuid: str
    attempt: int
    kind: str
    reason: str
    host: str
    operation: int = 0
    copy_number: int = 0
    copy_phase: str = ""
    transition: int = 0
    migration: str = ""
