# SPDX-License-Identifier: Apache-2.0
"""What hosts report of attempts."""

from typing import NamedTuple

ACTIVE, STOPPED, INCOMING, GONE = "active", "stopped", "incoming", "gone"
OUTCOMES = (ACTIVE, STOPPED, INCOMING, "refused", "failed", GONE)
ENDED_BY_REQUEST = (GONE, "failed")  # of a guest that was only to be copied: it has not run


class BuildResult(NamedTuple):
    """The outcome of one attempt, as its host reports it.

    ``copy_number`` and ``copy_phase`` are of the last copy from that host, as rpcapi.objects.copy has them; 0: none.
    ``transition`` is the number of the last transition that the host followed, ``migration`` the one for which it
    powered the guest off; "" if for none.
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
