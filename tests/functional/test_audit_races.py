# SPDX-License-Identifier: Apache-2.0
"""Audits of hosts on Redis while these are claimed, fenced and audited by others.

A guest that an audit answers as confirmed has a claim then, or its host was fenced since.
"""

import itertools
from concurrent.futures import ThreadPoolExecutor
from random import Random

from devstack.servers.redis import RedisServer
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.redis import RedisStore
from tests.support.store.backends import redis_partition
from tests.support.store.store_partition import LONG_MS, StorePartition, intent, running

HOSTS = ("h1", "h2")
ROUNDS = 60
BIG = {"VCPU": 10_000, "MEMORY_MB": 1_000_000}


def claim(partition: StorePartition, store: RedisStore, number: int) -> None:
    """Claim on a host, and release every other claim."""
    random, consumers = Random(number), (f"c{number}-{count}" for count in itertools.count())
    for consumer in itertools.islice(consumers, ROUNDS):
        host = random.choice(HOSTS)
        if store.prepare(partition.batch(intent(consumer, host))).accepted:
            store.confirm(host, [ClaimRef(consumer, 1)])
            if random.random() < 0.5:
                store.release(host, [ClaimRef(consumer, 1)])


def audit(partition: StorePartition, store: RedisStore, number: int) -> None:
    """Report what the store knows of a host, and a guest that it does not know."""
    random = Random(number)
    for count in range(ROUNDS):
        host = random.choice(HOSTS)
        refs = [live.ref for live in store.claims(host=host)[0] if live.state == "confirmed"]
        reported = [running(ref, host) for ref in [*refs, ClaimRef(f"unknown{number}-{count}", 1)]]
        outcome = store.audit(host, store.snapshot().epoch, reported, LONG_MS)
        answers = {Answer(result.answer) for result in outcome.answers}
        assert answers <= {Answer.CONFIRMED, Answer.RELEASED, Answer.FENCED, Answer.UNVERIFIED, Answer.ABORTED}
        assert (outcome.epoch, len(outcome.answers)) == (store.snapshot().epoch, len(reported))


def vouch(partition: StorePartition, store: RedisStore, number: int) -> None:
    """Vouch for some unverified claims, and release others."""
    random = Random(number)
    for _ in range(ROUNDS):
        for live in store.claims()[0]:
            if live.state == "unverified":
                _word, consumer, attempt, host = live.consumer.split(" ")
                end = store.vouch if random.random() < 0.5 else store.release
                end(host, [ClaimRef(consumer, int(attempt))])


def fence(partition: StorePartition, store: RedisStore, number: int) -> None:
    for count in range(ROUNDS // 4):
        store.fence(HOSTS[count % len(HOSTS)], f"token{number}-{count}", force=True)


WRITERS = [claim, claim, claim, audit, audit, audit, vouch, fence]


def test_audits_among_claims_and_fences_of_the_same_hosts(redis_server: RedisServer) -> None:
    partition = redis_partition(redis_server)
    for host in HOSTS:
        partition.add_host(host, amounts=BIG)
    stores = [RedisStore(redis_server.url(), partition.store.partition) for _ in WRITERS]
    with ThreadPoolExecutor(len(WRITERS)) as threads:
        runs = [
            threads.submit(write, partition, store, number)
            for number, (write, store) in enumerate(zip(WRITERS, stores, strict=True))
        ]
    for run in runs:
        run.result()
    # Afterwards the sums are those of the claims, and an audit without guests leaves nothing but orphans to release
    partition.check()
    for host in HOSTS:
        epoch = partition.store.snapshot().epoch
        outcome = partition.store.audit(host, epoch, [], 0)
        assert outcome.orphans == 0
    assert partition.states() == {} and all(partition.used(host) == {} for host in HOSTS)
    partition.check()
    for store in (partition.store, *stores):
        store.close()
