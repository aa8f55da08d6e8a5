# SPDX-License-Identifier: Apache-2.0
"""What hosts report of attempts."""

from typing import NamedTuple

ACTIVE, STOPPED, INCOMING, GONE = "active", "stopped", "incoming", "gone"
OUTCOMES = (ACTIVE, STOPPED, INCOMING, "refused", "failed", GONE)


class BuildResult(NamedTuple):
    """The outcome of one attempt, as its host reports it.

    ``copy_number`` and ``copy_phase`` are of the last copy from that host, as rpcapi.objects.copy has them; 0: none.
    ``transition`` is the number of the last transition that the host followed.
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
