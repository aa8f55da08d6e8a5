# SPDX-License-Identifier: Apache-2.0
"""Stamps: the conductors' evidence of a partition's state, which exposes a restored backup."""

from collections.abc import Sequence

from conductor.store.interface import ConductorStore
from rpcapi import errors
from rpcapi.clients.scheduler import SchedulerAPI
from rpcapi.context import RequestContext
from rpcapi.rounds import RoundLimits, Rounds

MAX_CALLS = 10_000  # callers that share an exchange; more than a conductor has threads


class PartitionStamps:
    """Exchange of stamps: sends each partition's newest stamp to the scheduler and stores the answers."""

    def __init__(self, store: ConductorStore, scheduler: SchedulerAPI) -> None:
        self._store = store
        self._scheduler = scheduler
        self._rounds = Rounds(self._exchange, RoundLimits(MAX_CALLS, MAX_CALLS))

    def exchange(self, ctxt: RequestContext) -> None:
        """Make each partition that is behind its stamp begin an epoch.

        Concurrent calls share the next exchange. Raises the call's errors, and StoreUnavailable for the conductors'
        store or a silent partition with a stamp.
        """
        self._rounds.call(ctxt, owner="")

    def _exchange(self, contexts: Sequence[RequestContext]) -> list[None]:
        stamps = self._store.stamps()
        answer = self._scheduler.exchange_stamps(contexts[-1], dict(stamps))  # the latest has the most time left
        later = {name: stamp for name, stamp in answer.items() if stamp is not None and stamp != stamps.get(name)}
        if later:
            self._store.keep_stamps(later)
        silent = sorted(stamps.keys() - answer.keys())
        if silent:
            raise errors.StoreUnavailable(why=f"partition {silent[0]} does not answer; it may have been restored")
        return [None] * len(contexts)
