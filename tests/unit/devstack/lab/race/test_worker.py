# SPDX-License-Identifier: Apache-2.0
"""Counts of a race."""

from collections import Counter
from types import SimpleNamespace

from devstack.lab.race.worker import CountingStore, RaceTally
from rpcapi import errors
from rpcapi.resources.claims import Verdict
from scheduler_svc.core.records import BatchAnswer, BatchOutcomes
from scheduler_svc.store.memory import MemoryStore

FITS, PASSED, CONCURRENT = Verdict.FITS, Verdict.PASSED, Verdict.CONCURRENT


def test_tallies_are_added_and_the_longest_list_is_kept():
    total = RaceTally(1, 2, 3, 4, 5, 6, 7, 8, 10, Counter({FITS: 1}))
    total.add(RaceTally(10, 20, 30, 40, 50, 60, 70, 3, 100, Counter({FITS: 1, CONCURRENT: 2})))
    assert total == RaceTally(11, 22, 33, 44, 55, 66, 77, 8, 110, Counter({FITS: 2, CONCURRENT: 2}))


def counting_store(tally, answer):
    """Return a store that counts the answers to batches, all of them ``answer``."""
    store = MemoryStore("p")
    store.prepare_all = lambda batches, log_after: BatchOutcomes([answer] * len(batches))
    return CountingStore(store, tally)


def tally_of(*verdicts, position=20, accepted=1):
    """Return the tally of one claim script with these verdicts, decided at position 10."""
    prepared = [SimpleNamespace(verdicts=list(tried)) for tried in verdicts]
    answer = BatchAnswer(bool(accepted), True, 1, position, prepared)
    tally = RaceTally()
    counting_store(tally, answer).prepare_all([SimpleNamespace(position=10)])
    return tally


def test_rounds_and_their_calls_are_counted():
    tally = RaceTally()
    store = counting_store(tally, errors.StoreUnavailable(why="down"))
    for size in (1, 3):
        store.prepare_all([SimpleNamespace(position=10)] * size)
    assert (tally.rounds, tally.calls, tally.scripts) == (2, 4, 0)


def test_first_choice_loses_no_candidate_to_others():
    assert (tally_of([FITS]).first_choices, tally_of([FITS]).very_first_choices) == (1, 1)
    tally = tally_of([PASSED, FITS])
    assert (tally.first_choices, tally.very_first_choices, tally.max_candidates) == (1, 0, 2)
    tally = tally_of([CONCURRENT, FITS])
    assert (tally.first_choices, tally.very_first_choices) == (0, 0)
    assert tally.verdicts == {CONCURRENT: 1, FITS: 1}


def test_own_claim_does_not_count_as_lag():
    assert tally_of([FITS], position=20, accepted=1).behind == 9
    assert tally_of([CONCURRENT], position=20, accepted=0).behind == 10


def test_script_without_candidates_is_not_counted():
    tally = tally_of([])
    assert (tally.scripts, tally.behind, tally.first_choices, tally.max_candidates) == (0, 0, 0, 0)
