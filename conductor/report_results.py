# SPDX-License-Identifier: Apache-2.0
"""What hosts report of attempts."""

from typing import NamedTuple

ACTIVE, STOPPED, INCOMING, GONE = "active", "stopped", "incoming", "gone"
OUTCOMES = (ACTIVE, STOPPED, INCOMING, "refused", "failed", GONE)
ENDED_BY_REQUEST = (GONE, "failed")  # "failed": the guest was incoming and never ran


class BuildResult(NamedTuple):
    """The outcome of one attempt, as its host reports it.

    ``copy_number`` and ``copy_phase`` are of the last copy from that host, as rpcapi.objects.copy has them; 0: none.
    ``transition`` is the number of the last transition that the host followed. ``migration`` is the migration for which
    the host powered the guest off; "" if it did so for none.
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
