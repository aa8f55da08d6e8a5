# SPDX-License-Identifier: Apache-2.0
"""Writers, agents and a conductor that go on through a failover, and what each was promised meanwhile."""

import random
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from conductor.store.records import BuildRequestRecord
from conductor.store.redis import RedisConductorStore as Records
from rpcapi import errors
from rpcapi.conf.replicas import ReplicaAcknowledgement
from rpcapi.model.claims import Answer
from scheduler_svc.store.records import AuditOutcome, ClaimBatch, ClaimRef
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.store.redis.keys import prefix
from tests.functional.failover.setups import SetUp
from tests.unit.scheduler_svc.store.world import LONG_MS, SMALL, intent, node_stats, poll, running

T = TypeVar("T")

CELL = "cell3"  # of three primaries the one that has the conductor's records too: both are lost at once
KEY = prefix(CELL)
PLACES = 6  # claims that one host has room for
HOSTS = [f"h{number}" for number in range(6)]
PATIENCE = 60.0  # seconds in which a store that failed over must serve again
PAUSE = 0.02


@dataclass
class Host:
    """An agent, reduced to its journal: what it holds, and whether that was confirmed."""

    name: str
    lock: threading.Lock = field(default_factory=threading.Lock)
    held: dict[str, bool] = field(default_factory=dict)

    def start(self, consumer: str) -> None:
        """Start a guest. This is where an overcommit would be real."""
        self.held[consumer] = True
        assert sum(self.held.values()) <= PLACES, f"{self.name} runs more than it has room for"

    def audit(self, store: RedisStore, epoch: int, grace_ms: int) -> AuditOutcome:
        """Tell the store all that is held, and drop what it says was never confirmed."""
        with self.lock:
            told = [running(ClaimRef(each, 1), self.name, confirmed=sure) for each, sure in self.held.items()]
            outcome = store.audit(self.name, epoch, told, grace_ms)
            for ended in outcome.answers:
                if ended.answer not in (Answer.CONFIRMED, Answer.PREPARED):
                    assert not self.held.pop(ended.consumer), f"{ended.consumer} runs, and its claim is {ended.answer}"
            return outcome


@dataclass
class Promised:
    """What was acknowledged, counted; and which records the conductor was promised."""

    confirmed: int = 0
    released: int = 0
    aborted: int = 0
    refused: int = 0
    requests: list[str] = field(default_factory=list)
    reasserted: int = 0  # guests whose claims the store had forgotten
    returned: int = 0  # ends that it had forgotten
    forgotten: int = 0  # recorded requests that it had

    @property
    def lost(self) -> int:
        """How much of what was acknowledged is, or was for a while, no longer so."""
        return self.reasserted + self.returned + self.forgotten


class Load:
    """Four deciders with their hosts' agents, an auditor and a conductor, each with its own connections."""

    def __init__(self, setup: SetUp, replicas: ReplicaAcknowledgement, writers: int = 4) -> None:
        self._setup = setup
        self._replicas = replicas
        self.hosts = {name: Host(name) for name in HOSTS}
        self.promised = Promised()
        self.failures: list[BaseException] = []
        self._count = threading.Lock()
        self._enough = threading.Event()
        work: list[Callable[[], None]] = [self._write] * writers + [self._audit, self._record]
        self._threads = [threading.Thread(target=self._edge, args=(each,), daemon=True) for each in work]

    def store(self) -> RedisStore:
        """Return the partition's store, with connections of its own."""
        return RedisStore(self._setup.url("scheduler"), CELL, durability="always", replicas=self._replicas)

    def begin(self) -> None:
        """Report the hosts, open them, and let everybody go."""
        store = self.store()
        for name in HOSTS:
            nodes = {name: node_stats({"VCPU": PLACES, "MEMORY_MB": 64 * PLACES})}
            store.update_stats(name, incarnation=1, sequence=1, base=0, full=True, nodes=nodes)
        store.close()
        for thread in self._threads:
            thread.start()

    def flows(self, more: int = 60) -> None:
        """Return when so many more claims were confirmed, others ended, and requests recorded."""
        before = self._sums()
        wanted = [before[0] + more, before[1] + 1, before[2] + 1]
        poll(lambda: bool(self.failures) or all(map(int.__ge__, self._sums(), wanted)), PATIENCE)
        assert not self.failures, self.failures

    def end(self) -> None:
        """Let everybody finish what is under way."""
        self._enough.set()
        for thread in self._threads:
            thread.join(PATIENCE)
        assert not self.failures, self.failures
        assert not any(thread.is_alive() for thread in self._threads)

    def settle(self) -> None:
        """Audit every host without grace, and assert that store and hosts tell one story, and no sum is broken.

        Counts what had been forgotten.
        """
        store = self.store()
        epoch, _bumped = store.check_identity()
        for host in self.hosts.values():
            self._note(host.audit(store, epoch, 0))
        found = store.verify()
        assert (list(found.problems), list(found.excess)) == ([], [])
        claims, _more = store.claims()
        assert sorted((claim.consumer, claim.host, claim.state) for claim in claims) == sorted(
            (consumer, host.name, "confirmed") for host in self.hosts.values() for consumer in host.held
        )
        store.close()
        records = Records(self._setup.url("conductor"))
        self.promised.forgotten = len(self.promised.requests) - len(records.requests(self.promised.requests))
        records.close()

    def epoch(self) -> int:
        """Return the store's epoch."""
        store = self.store()
        try:
            return self._persist(lambda: store.check_identity()[0])
        finally:
            store.close()

    def _sums(self) -> list[int]:
        with self._count:
            told = self.promised
            return [told.confirmed, min(told.released, told.aborted), len(told.requests)]

    def _note(self, outcome: AuditOutcome) -> None:
        with self._count:
            self.promised.reasserted += outcome.reasserted
            self.promised.returned += outcome.released

    def _edge(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as failure:  # told by the test, whichever thread it was
            self.failures.append(failure)

    def _persist(self, verb: Callable[[], T]) -> T:
        """Repeat a verb until it is answered, as everybody does who needs its answer."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return verb()
            except errors.StoreUnavailable:
                assert time.monotonic() < deadline, "the store did not come back"
                time.sleep(PAUSE)

    def _until_known(self, verb: Callable[[], Any]) -> Answer:
        """Repeat a verb until an audit has let it be answered."""
        deadline = time.monotonic() + PATIENCE
        while (answer := self._persist(verb)[0].answer) is Answer.CLOSED:
            assert time.monotonic() < deadline, "nobody audits"
            time.sleep(PAUSE)
        return answer

    def _write(self) -> None:
        store, chance, mine = self.store(), random.Random(threading.get_ident()), list[tuple[str, Host]]()
        while not self._enough.is_set():
            if len(mine) > 8 or (mine and chance.random() < 0.4):
                self._release(store, *mine.pop(chance.randrange(len(mine))))
                continue
            consumer = str(uuid.uuid4())
            host = self._prepare(store, consumer, chance.sample(HOSTS, 3))
            if host is None:
                continue
            if chance.random() < 0.2:
                self._abort(store, consumer, host)
            elif self._confirm(store, consumer, host):
                mine.append((consumer, host))
        store.close()

    def _prepare(self, store: RedisStore, consumer: str, names: list[str]) -> Host | None:
        def once() -> Any:
            now = store.snapshot()
            wish = intent(consumer, *names)
            return store.prepare(ClaimBatch("req-1", "p", "u", SMALL, [wish], now.epoch, now.position, LONG_MS))

        prepared = self._persist(once).prepared[0]
        if prepared.answer is Answer.PREPARED:
            return self.hosts[prepared.host]
        with self._count:
            self.promised.refused += 1
        time.sleep(PAUSE)
        return None

    def _confirm(self, store: RedisStore, consumer: str, host: Host) -> bool:
        with host.lock:
            host.held[consumer] = False  # journalled before it is asked for
        deadline = time.monotonic() + PATIENCE
        while True:
            with host.lock:
                if consumer not in host.held:
                    return False  # an audit ended it
                answer = self._persist(lambda: store.confirm(host.name, [ClaimRef(consumer, 1)]))[0].answer
                if answer is Answer.CONFIRMED:
                    host.start(consumer)
                    break
                if answer is not Answer.CLOSED:
                    host.held.pop(consumer)
                    return False
            assert time.monotonic() < deadline, "nobody audits"
            time.sleep(PAUSE)
        with self._count:
            self.promised.confirmed += 1
        return True

    def _release(self, store: RedisStore, consumer: str, host: Host) -> None:
        with host.lock:
            # The guest is gone first; an audit in between still tells of it, as a journal does.
            answer = self._persist(lambda: store.release(host.name, [ClaimRef(consumer, 1)]))[0].answer
            assert answer in self._ends(Answer.RELEASED), answer
            del host.held[consumer]
        with self._count:
            self.promised.released += 1

    def _abort(self, store: RedisStore, consumer: str, host: Host) -> None:
        answer = self._until_known(lambda: store.abort([ClaimRef(consumer, 1)], host=host.name))
        assert answer in self._ends(Answer.ABORTED), answer
        with self._count:
            self.promised.aborted += 1

    def _ends(self, end: Answer) -> tuple[Answer, ...]:
        """Return what may be answered to who ends a claim: what was not replicated may not be known any more."""
        return (end,) if self._replicas.count else (end, Answer.UNKNOWN)

    def _audit(self) -> None:
        store = self.store()
        while not self._enough.is_set():
            now = self._persist(store.snapshot)
            for host in self.hosts.values():
                if now.opened.get(host.name) != now.epoch:
                    self._note(self._persist(partial(host.audit, store, now.epoch, LONG_MS)))
            self._enough.wait(PAUSE)
        store.close()

    def _record(self) -> None:
        records = Records(self._setup.url("conductor"), replicas=self._replicas)
        while not self._enough.is_set():
            key = str(uuid.uuid4())
            request = BuildRequestRecord(key=key, request_id="req-1", project="p", user="u", flavor="f", spec={})
            self._persist(lambda request=request, key=key: records.record(request, [key]))
            with self._count:
                self.promised.requests.append(key)
            self._enough.wait(PAUSE)
        records.close()
