# SPDX-License-Identifier: Apache-2.0
"""Load during a failover: writers, agents and a conductor, with counts of acknowledged writes."""

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
from devstack.deploy.users.redis_users import PLACEMENT, SCHEDULER
from rpcapi import errors
from rpcapi.conf.replicas import ReplicaAcknowledgement
from rpcapi.resources import names
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimBatch, ClaimRef
from scheduler_svc.store.records import AuditOutcome, HostReport
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.store.redis.keys import prefix
from tests.functional.failover.api_client import ApiClient, make_pool
from tests.support.clusters.setups import FailoverSetup
from tests.support.store.store_partition import LONG_MS, SMALL, intent, node_stats, poll, running

T = TypeVar("T")

CELL = "cell3"  # on the same one of three primaries as the conductor's records
KEY = prefix(CELL)
API_CLIENTS = 4
CAPACITY = 6  # claims that fit on one host
HOSTS = [f"h{number}" for number in range(6)]
RECOVERY_TIMEOUT = 60.0  # seconds within which the store must serve again after a failover
PAUSE = 0.02


@dataclass
class AgentModel:
    """Model of an agent: its claims, and whether each is confirmed."""

    name: str
    lock: threading.Lock = field(default_factory=threading.Lock)
    guests: dict[str, bool] = field(default_factory=dict)

    def start(self, consumer: str) -> None:
        """Start a guest, and check that the host is not overcommitted."""
        self.guests[consumer] = True
        assert sum(self.guests.values()) <= CAPACITY, f"{self.name} runs more guests than fit"

    def audit(self, store: RedisStore, epoch: int, grace_ms: int) -> AuditOutcome:
        """Report all claims to the store, and drop those that it does not confirm."""
        with self.lock:
            claims = [running(ClaimRef(item, 1), self.name, confirmed=sure) for item, sure in self.guests.items()]
            outcome = store.audit(self.name, epoch, claims, grace_ms)
            for ended in outcome.answers:
                if ended.answer not in (Answer.CONFIRMED, Answer.PREPARED):
                    assert not self.guests.pop(ended.consumer), (
                        f"{ended.consumer} runs, and its claim is {ended.answer}"
                    )
            return outcome


@dataclass
class Acknowledged:
    """Counts of acknowledged writes, and the conductor's acknowledged records."""

    confirmed: int = 0
    released: int = 0
    aborted: int = 0
    refused: int = 0
    requests: list[str] = field(default_factory=list)
    reasserted: int = 0  # guests with claims that the store had lost
    returned: int = 0  # released claims that came back
    forgotten: int = 0  # request records that the store had lost
    allocated: int = 0  # by clients of the Placement API
    forgotten_allocations: int = 0

    @property
    def lost_count(self) -> int:
        """Number of acknowledged writes that were lost, at least for a while."""
        return self.reasserted + self.returned + self.forgotten + self.forgotten_allocations


class FailoverLoad:
    """Four scheduler workers with the agents of their hosts, an auditor, a conductor and clients of the Placement API.

    Each is on separate connections.
    """

    def __init__(self, setup: FailoverSetup, replicas: ReplicaAcknowledgement, writers: int = 4) -> None:
        self._setup = setup
        self._replicas = replicas
        self.hosts = {name: AgentModel(name) for name in HOSTS}
        self.promised = Acknowledged()
        self.failures: list[BaseException] = []
        self._count = threading.Lock()
        self._enough = threading.Event()
        self._api_clients = [ApiClient(number, self._persist) for number in range(API_CLIENTS)]
        work: list[Callable[[], None]] = [self._write] * writers + [self._audit, self._record]
        work += [partial(self._allocate, client) for client in self._api_clients]
        self._threads = [threading.Thread(target=self._edge, args=(item,), daemon=True) for item in work]

    def store(self, user: str = SCHEDULER.name) -> RedisStore:
        """Return the partition's store on separate connections."""
        return RedisStore(self._setup.url(user), CELL, durability="always", replicas=self._replicas)

    def begin(self) -> None:
        """Report the hosts, and start all threads."""
        store = self.store()
        for name in HOSTS:
            nodes = {name: node_stats({"VCPU": CAPACITY, "MEMORY_MB": 64 * CAPACITY})}
            store.update_stats(name, HostReport(register=True, agent="a", incarnation=0, sequence=1, nodes=nodes))
        make_pool(store)
        store.close()
        for thread in self._threads:
            thread.start()

    def wait_for_progress(self, more: int = 60) -> None:
        """Wait until ``more`` further claims are confirmed, and others are ended and recorded."""
        before = self._sums()
        targets = [before[0] + more, before[1] + 1, before[2] + 1]
        poll(lambda: bool(self.failures) or all(map(int.__ge__, self._sums(), targets)), RECOVERY_TIMEOUT)
        assert not self.failures, self.failures

    def end(self) -> None:
        """Stop all threads after their current operation."""
        self._enough.set()
        for thread in self._threads:
            thread.join(RECOVERY_TIMEOUT)
        assert not self.failures, self.failures
        assert not any(thread.is_alive() for thread in self._threads)

    def settle(self) -> None:
        """Audit every host without grace, and assert that store and hosts are consistent, with correct sums.

        Counts the lost writes.
        """
        store = self.store()
        epoch, _bumped = store.check_identity()
        for host in self.hosts.values():
            self._note(host.audit(store, epoch, 0))
        report = store.verify()
        assert (list(report.problems), list(report.excess)) == ([], [])
        claims, _more = store.claims()
        of_agents = [claim for claim in claims if claim.host != names.API_HOST]
        assert sorted((claim.consumer, claim.host, claim.state) for claim in of_agents) == sorted(
            (consumer, host.name, "confirmed") for host in self.hosts.values() for consumer in host.guests
        )
        for client in self._api_clients:
            client.check(store)
            self.promised.allocated += client.accepted
            self.promised.forgotten_allocations += client.forgotten
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
            claims = self.promised
            return [claims.confirmed, min(claims.released, claims.aborted), len(claims.requests)]

    def _note(self, outcome: AuditOutcome) -> None:
        with self._count:
            self.promised.reasserted += outcome.reasserted
            self.promised.returned += outcome.released

    def _edge(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as failure:  # the test reports failures of all threads
            self.failures.append(failure)

    def _persist(self, verb: Callable[[], T]) -> T:
        """Repeat a verb until it is answered."""
        deadline = time.monotonic() + RECOVERY_TIMEOUT
        while True:
            try:
                return verb()
            except errors.StoreUnavailable:
                assert time.monotonic() < deadline, "the store did not come back"
                time.sleep(PAUSE)

    def _repeat_until_audited(self, verb: Callable[[], Any]) -> Answer:
        """Repeat a verb until an audit has opened the host."""
        deadline = time.monotonic() + RECOVERY_TIMEOUT
        while (answer := self._persist(verb)[0].answer) is Answer.CLOSED:
            assert time.monotonic() < deadline, "no host was audited in time"
            time.sleep(PAUSE)
        return answer

    def _write(self) -> None:
        store, chance, consumers = self.store(), random.Random(threading.get_ident()), list[tuple[str, AgentModel]]()
        while not self._enough.is_set():
            if len(consumers) > 8 or (consumers and chance.random() < 0.4):
                self._release(store, *consumers.pop(chance.randrange(len(consumers))))
                continue
            consumer = str(uuid.uuid4())
            host = self._prepare(store, consumer, chance.sample(HOSTS, 3))
            if host is None:
                continue
            if chance.random() < 0.2:
                self._abort(store, consumer, host)
            elif self._confirm(store, consumer, host):
                consumers.append((consumer, host))
        store.close()

    def _prepare(self, store: RedisStore, consumer: str, hosts: list[str]) -> AgentModel | None:
        def once() -> Any:
            now = store.snapshot()
            claim_intent = intent(consumer, *hosts)
            batch = ClaimBatch("req-1", "p", "u", SMALL, [claim_intent], now.epoch, now.position, LONG_MS, fresh=True)
            return store.prepare(batch)

        prepared = self._persist(once).prepared[0]
        if prepared.answer is Answer.PREPARED:
            return self.hosts[prepared.host]
        with self._count:
            self.promised.refused += 1
        time.sleep(PAUSE)
        return None

    def _confirm(self, store: RedisStore, consumer: str, host: AgentModel) -> bool:
        with host.lock:
            host.guests[consumer] = False  # journalled before the confirm
        deadline = time.monotonic() + RECOVERY_TIMEOUT
        while True:
            with host.lock:
                if consumer not in host.guests:
                    return False  # an audit ended it
                answer = self._persist(lambda: store.confirm(host.name, [ClaimRef(consumer, 1)]))[0].answer
                if answer is Answer.CONFIRMED:
                    host.start(consumer)
                    break
                if answer is not Answer.CLOSED:
                    host.guests.pop(consumer)
                    return False
            assert time.monotonic() < deadline, "no host was audited in time"
            time.sleep(PAUSE)
        with self._count:
            self.promised.confirmed += 1
        return True

    def _release(self, store: RedisStore, consumer: str, host: AgentModel) -> None:
        with host.lock:
            # The guest is stopped first; an audit in between still reports it, as from a journal.
            answer = self._persist(lambda: store.release(host.name, [ClaimRef(consumer, 1)]))[0].answer
            assert answer in self._ends(Answer.RELEASED), answer
            del host.guests[consumer]
        with self._count:
            self.promised.released += 1

    def _abort(self, store: RedisStore, consumer: str, host: AgentModel) -> None:
        answer = self._repeat_until_audited(lambda: store.abort([ClaimRef(consumer, 1)], host=host.name))
        assert answer in self._ends(Answer.ABORTED), answer
        with self._count:
            self.promised.aborted += 1

    def _ends(self, end: Answer) -> tuple[Answer, ...]:
        """Return the acceptable answers to an end of a claim: claims that were not replicated may be unknown."""
        return (end,) if self._replicas.count else (end, Answer.UNKNOWN)

    def _audit(self) -> None:
        store = self.store()
        while not self._enough.is_set():
            now = self._persist(store.snapshot)
            self._persist(lambda epoch=now.epoch: store.name_hosts(epoch, HOSTS, complete=True))
            for host in self.hosts.values():
                if now.opened.get(host.name) != now.epoch:
                    self._note(self._persist(partial(host.audit, store, now.epoch, LONG_MS)))
            self._enough.wait(PAUSE)
        store.close()

    def _allocate(self, client: ApiClient) -> None:
        store = self.store(PLACEMENT.name)
        while not self._enough.is_set():
            client.write(store)
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
