# SPDX-License-Identifier: Apache-2.0
"""Deleting instances: the wish is recorded, the saga carries it out."""

from collections.abc import Callable, Sequence

from oslo_log import log

from conductor.saga.transitions import proceed
from conductor.store.interface import Store
from conductor.store.records import Instance, Status, Step
from rpcapi import errors
from rpcapi.model.request import check_uuids

LOG = log.getLogger(__name__)

ROUNDS = 20  # of reading and writing, before the caller is asked to come again


class Deletion:
    """``wake`` is called when there is work; ``most`` is how many instances one call may name."""

    def __init__(self, store: Store, wake: Callable[[], None], most: int) -> None:
        self._store = store
        self._wake = wake
        self._most = most

    def delete(self, uuids: Sequence[str]) -> None:
        """Have instances in any state deleted; one that is deleted already stays so.

        Raises InvalidRequest's kinds and UnknownInstance before anything is done, Conflict and StoreUnavailable
        when it has to be asked again.
        """
        check_uuids(uuids, self._most)
        left = list(uuids)
        for _ in range(ROUNDS):
            known = self._store.get(left)
            for uuid in left:
                if uuid not in known:
                    raise errors.UnknownInstance(uuid=uuid)
            wished = [wish(each) for each in known.values() if each.status != Status.DELETED]
            left = list(self._store.note(wished, wake=True).stale) if wished else []
            if not left:
                LOG.info("Recorded that %d instances are to be deleted", len(uuids))
                self._wake()
                return
        raise errors.Conflict(what=f"The deletion of {left[0]}", why="its record changes all the time")


def wish(instance: Instance) -> Instance:
    """Return the record of an instance that is to be deleted."""
    if instance.status == Status.DELETING:
        return proceed(instance, instance.step)
    # What is ACTIVE runs on its host. Of all else only the claims can say whether its host has it.
    step = Step.TERMINATE if instance.status == Status.ACTIVE else Step.ABORT
    return proceed(instance, step, status=Status.DELETING)
