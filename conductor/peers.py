# SPDX-License-Identifier: Apache-2.0
"""The services that the conductor calls."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

import oslo_messaging as messaging

from rpcapi import errors
from rpcapi.claims import ClaimsAPI
from rpcapi.compute import ComputeAPI
from rpcapi.scheduler import SchedulerAPI

# Nobody gave a definite answer: whether the message was carried out is not known, so the same is asked again.
UNANSWERED = (errors.Unavailable, errors.DeadlinePassed, messaging.MessagingException, OSError)


def sentence(error: Exception) -> str:
    """Return what to show and to record of a failed call, in one line and without a peer's traceback."""
    text = str(error.args[0]) if error.args else ""
    return text.partition("\n")[0] or type(error).__name__


@dataclass(frozen=True)
class Peers:
    """The three clients; ``claims`` makes that of a partition, ``partition`` is the one that is asked by default."""

    scheduler: SchedulerAPI
    compute: ComputeAPI
    claims: Callable[[str], ClaimsAPI]
    partition: str

    def claims_of(self, partition: str | None) -> ClaimsAPI:
        """Return the client of the claims of ``partition``, or of the default one where none is known yet."""
        return self.claims(partition or self.partition)


def remembered(make: Callable[[str], ClaimsAPI]) -> Callable[[str], ClaimsAPI]:
    """Return ``make`` with one client a partition, whichever thread asks first."""
    made: dict[str, ClaimsAPI] = {}
    lock = threading.Lock()

    def client(partition: str) -> ClaimsAPI:
        with lock:
            if partition not in made:
                made[partition] = make(partition)
            return made[partition]

    return client
