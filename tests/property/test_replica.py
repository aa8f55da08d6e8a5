# SPDX-License-Identifier: Apache-2.0
"""A replica that has applied the logs equals snapshots at the same positions, whatever was done to the stores.

Two partitions in one table, with hosts of the same names, are independent; only documents about a host apply in every
partition that has the host.
"""

import contextlib

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rpcapi import errors
from scheduler_svc.core.records import Candidate, ClaimBatch, ClaimRef, Intent
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.replication.replica import Replica
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.records import HostReport, RunningClaim
from tests.support.scheduler.hosts import describe, node

HOSTS = st.sampled_from(("a", "b", "c"))
NODES = st.lists(st.sampled_from(("1", "2", "3")), unique=True, max_size=3)
TOTALS = st.fixed_dictionaries({"VCPU": st.integers(0, 8)}, optional={"CUSTOM_GPU": st.integers(0, 2)})
READS = {"compute": frozenset({"metrics.heat"}), "rack": frozenset({"watts", "power"})}
NAMES = st.sampled_from(("a", "a/1", "b", "b/2", "c/3", "pool"))
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "watts": st.integers(0, 2) | st.lists(st.sampled_from("ab"), unique=True),
        "power": st.sampled_from(("on", "off")),
        "row": st.just(1),
    },
)
CONSUMERS = st.sampled_from(tuple(f"vm{number}" for number in range(6)))


class ReplicaMachine(RuleBasedStateMachine):
    """Two memory stores under random verbs, one table that follows at random times and one that follows every step."""

    def __init__(self):
        super().__init__()
        self.now = 1_000_000
        self.sequence = 0
        self.attempt = 0
        self.stores = [
            MemoryStore(name, clock=lambda: self.now, max_step_ms=1 << 50, log_length=12, namespaces=("rack", "other"))
            for name in "pq"
        ]
        self.store = self.stores[0]
        self.tables = [HostTable("pq", READS), HostTable("pq", READS)]
        self.replicas = [[Replica(store, table=table) for store in self.stores] for table in self.tables]
        for replica in (*self.replicas[0], *self.replicas[1]):
            replica.load()

    @rule(number=st.sampled_from((0, 1)))
    def select_store(self, number):
        self.store = self.stores[number]

    @rule(host=HOSTS)
    def remove(self, host):
        with contextlib.suppress(errors.Conflict):  # the host has or may have claims
            self.store.remove(host)

    @rule(namespace=st.sampled_from(("rack", "rack", "other")), name=NAMES, document=st.none() | DOCUMENTS)
    def write(self, namespace, name, document):
        try:
            version, _ = self.store.get_state(namespace, name)
        except errors.UnknownHost:
            version = 0
        if document is None:
            self.store.delete_state(namespace, name, version)
        else:
            self.store.put_state(namespace, name, version, document)

    @rule(
        host=HOSTS,
        nodes=NODES,
        totals=TOTALS,
        said=st.tuples(st.sampled_from((None, "az1")), st.sampled_from(({}, {"heat": 1}, {"heat": 2.5, "other": 3}))),
        cells=st.dictionaries(st.sampled_from(("1", "2")), st.booleans()),
    )
    def report(self, host, nodes, totals, said, cells):
        self.sequence += 1
        nodes_reported = {f"{host}/{node_name}": node(totals, ["CUSTOM_X"], *said) for node_name in nodes}
        for node_name in cells.keys() & set(nodes):
            nodes_reported |= self._cell(f"{host}/{node_name}", totals, cells[node_name])
        self.store.update_stats(
            host, HostReport(register=True, agent="a", incarnation=0, sequence=self.sequence, nodes=nodes_reported)
        )

    @staticmethod
    def _cell(name, totals, deep):
        cell = {**node(totals, ["CUSTOM_Y"]), "parent": name}
        card = {**node({"CUSTOM_GPU": 1}), "parent": f"{name}/cell"}
        return {f"{name}/cell": cell} | ({f"{name}/cell/card": card} if deep else {})

    @rule(host=HOSTS, consumer=CONSUMERS, running=st.booleans())
    def audit(self, host, consumer, running):
        if host not in self.store.state.reports:
            return
        self.attempt += 1
        name = f"{host}/1"
        instances = [RunningClaim(consumer, self.attempt, True, name, {name: {"VCPU": 1}}, "INSTANCE", "p", "u", "r")]
        self.store.audit(host, self.store.state.epoch, instances if running else [], 0)

    @rule(consumer=CONSUMERS, host=HOSTS, ttl_ms=st.sampled_from((1, 60_000)))
    def prepare(self, consumer, host, ttl_ms):
        self.attempt += 1
        cell = Candidate(f"{host}/1", {f"{host}/1/cell": {"VCPU": 1}})
        intent = Intent(consumer, self.attempt, [cell, *(Candidate(f"{host}/{suffix}") for suffix in "123")])
        state = self.store.state
        self.store.prepare(ClaimBatch("r", "p", "u", {"VCPU": 1}, [intent], state.epoch, state.position, ttl_ms))

    @rule(host=HOSTS, consumer=CONSUMERS, release=st.booleans())
    def confirm_or_release(self, host, consumer, release):
        verb = self.store.release if release else self.store.confirm
        verb(host, [ClaimRef(consumer, claim.attempt) for claim in self.store.claims(consumer=consumer)[0]])

    @rule(host=HOSTS, enabled=st.booleans())
    def enable(self, host, enabled):
        if host in self.store.state.services:
            version, _ = self.store.get_state("service", host)
            self.store.put_state("service", host, version, {"enabled": enabled})

    @rule(milliseconds=st.sampled_from((1, 100_000)))
    def pass_time_and_reap(self, milliseconds):
        self.now += milliseconds
        self.store.reap(dead_after_ms=50_000, tombstone_ms=10_000_000)

    @rule()
    def begin_epoch(self):
        self.now += 1
        self.store.begin_epoch()

    @rule(number=st.sampled_from((0, 1)))
    def follow(self, number):
        self._catch_up(self.replicas[1][number])

    @invariant()
    def the_replicas_that_follow_equal_snapshots(self):
        for replica in self.replicas[0]:
            self._catch_up(replica)

    def teardown(self):
        for replica in self.replicas[1]:
            self._catch_up(replica)

    def _catch_up(self, replica):
        snapshot = self.stores[replica.number].snapshot(["rack"])
        while replica.log_position.position < snapshot.position:
            replica.step(0)
        assert replica.log_position.position == snapshot.position
        expected = describe(HostTable.from_snapshot(snapshot, reads=READS))
        for name, row in expected["rows"].items():
            other_states = {where: value for where, value in row["states"].items() if where[0] != "rack"}
            row["states"] = other_states | self._document_values(replica, name)
        assert describe(replica.table, replica.number) == expected

    @staticmethod
    def _document_values(replica, name):
        """Return a node's document values: its own name precedes its host's, its partition precedes others."""
        parts = replica.table.partitions
        own_documents, other_documents = (
            parts[number].documents.of("rack") for number in (replica.number, 1 - replica.number)
        )
        names = (name, name.partition("/")[0])
        documents_found = [
            documents[document_name]
            for document_name in names
            for documents in (own_documents, other_documents)
            if document_name in documents
        ]
        values = {
            ("rack", key): value
            for key, value in (documents_found[0] if documents_found else {}).items()
            if value != []
        }
        return {key: sorted(value) if isinstance(value, list) else value for key, value in values.items()}


ReplicaMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestReplica = ReplicaMachine.TestCase
