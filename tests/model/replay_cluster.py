# SPDX-License-Identifier: Apache-2.0
"""Random traces of the model, each action of which is one step of the real sagas, agents and verbs."""

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rpcapi import objects
from scheduler_svc.core.records import Candidate, ClaimRef, Intent
from tests.model.actions import (
    ALL_FORGOTTEN,
    CLAIMS_FORGOTTEN,
    RECORDS_FORGOTTEN,
    Action,
    actions,
    loss_of,
    marked,
)
from tests.model.explore import TO_BE_FORGOTTEN
from tests.model.real_cluster import LAST, RealCluster, name_of
from tests.model.replay import FAULT_SHARE, LENGTH, choose
from tests.model.requests import AGAIN, Plan, begin
from tests.model.state import ALIVE, OFF, REPORTED, Agent, Record, State
from tests.support.conductor.simulated_cluster import CTXT, HORIZON_MS
from tests.support.simulation.moves_cluster import FLAVORS, SPEC

LATE, TWICE = "; the message is late", "; it arrives again later"
KILLED = ", and is killed before "
LOSSES = (CLAIMS_FORGOTTEN, RECORDS_FORGOTTEN, ALL_FORGOTTEN)
TIMES_OUT = ("has waited long enough", "finds no host in time")
CHECKS = (
    *("checks the claim on its source", "checks the claim on its destination", "checks the claim on its host"),
    *("checks both claims", "checks the claim to be ended"),
)


class ClusterReplay:
    """One random trace. After each action the cluster has the model's record, store and journals."""

    def __init__(self, plan: Plan, seed: int, folder: Path) -> None:
        self._plan = plan
        self._random = random.Random(seed)
        self._cluster = RealCluster(folder, plan.site, is_booted=plan.is_booted)
        if plan.site.destination == (0,):
            self._cluster.partitions[0].ledger.nodes = ["h1/n"]
        self._claims_mark: list[Any] = []
        self._records_mark: Any = None
        self._late: Any = None
        self.state = begin(plan)
        self.labels: list[str] = []

    def run(self) -> None:
        self._compare()
        for _ in range(LENGTH):
            possible = [action for action in actions(self.state, self._plan) if action.state != self.state]
            if not possible:
                break
            action = choose(self._random, possible)
            after = self._with_mark(action)
            self.labels.append(action.label)
            self._follow(action)
            self.state = after
            self._compare()
        self._cluster.close()

    def follow(self, trace: tuple[str, ...]) -> None:
        """Follow a trace that the exploration found."""
        self._compare()
        for number, label in enumerate(trace[1:], 1):
            name = label.removesuffix(TO_BE_FORGOTTEN)
            action = next(action for action in actions(self.state, self._plan) if action.label == name)
            after = action.state
            if name != label:
                loss = next((later for later in trace[number:] if later.startswith(LOSSES)), "")
                after = self._marked(next(state for state in self._marks(action) if loss_of(state) == loss))
            self.labels.append(label)
            self._follow(action)
            self.state = after
            self._compare()
        self._cluster.close()

    def _marks(self, action: Action) -> list[State]:
        return list(marked(self.state, action.state, self._plan.stores))

    def _with_mark(self, action: Action) -> State:
        with_marks = self._marks(action)
        if not with_marks or self._random.random() >= FAULT_SHARE:
            return action.state
        return self._marked(self._random.choice(with_marks))

    def _marked(self, after: State) -> State:
        """Mark the contents of the real store that a state after an action has marked."""
        self._claims_mark = [partition.backend.mark() for partition in self._cluster.partitions]
        self._records_mark = self._cluster.copy_records()
        return after

    def _follow(self, action: Action) -> None:
        for pattern, follow in FOLLOW:
            match = re.fullmatch(pattern, action.label)
            if match is not None:
                follow(self, *match.groups())
                return
        raise AssertionError(f"no step of the cluster is: {action.label}")

    def _compare(self) -> None:
        record, stores = self._cluster.contents()
        assert record == _comparable(self.state.record), (self.labels, record, self.state.record)
        assert stores == self.state.stores, (self.labels, stores, self.state.stores)
        for host, agent in enumerate(self.state.agents):
            if agent.life != OFF:
                real = self._cluster.agents[host].contents()
                assert real == _comparable_agent(agent, real.audit_due), (self.labels, host, real, agent)

    # -- the conductor -------------------------------------------------------------------------------------------------

    def conduct(self, label: str) -> None:
        """Take one step of the conductor, and deliver its message as the label says."""
        base, _, _ = label.partition(KILLED)
        is_late, is_twice = base.endswith(LATE), base.endswith(TWICE)
        base = base.removesuffix(LATE).removesuffix(TWICE)
        record = self.state.record
        assert record is not None
        gives_up = record.step == "alternate" and base != "waits for an alternate"
        call = self._late_call(record)
        self._cluster.take_step(
            waited=gives_up or base in TIMES_OUT, tries=LAST if base in CHECKS else 0, is_recorded=KILLED not in label
        )
        messages = self._take_messages()
        if is_late or is_twice:
            self._late = messages[0] if messages else call
        if not is_late:
            self._deliver(messages)

    def _take_messages(self) -> list[Any]:
        queue, self._cluster.hosts.queue = self._cluster.hosts.queue, []
        return list(queue)

    def _deliver(self, messages: list[Any]) -> None:
        for host, send in messages:
            if self.state.agents[int(host[1:]) - 1].life == ALIVE:
                self._cluster.deliver((host, send))

    def _late_call(self, record: Record) -> Callable[[], None]:
        """Return the call of a verb that the due step makes."""
        uuid = self._cluster.uuid
        if record.step == "begin_move":
            store = self._cluster.partitions[record.move.source_partition].store
            ref, migration = (
                ClaimRef(uuid, record.move.source_attempt),
                self._cluster.consumers[uuid][record.move.number],
            )
            return lambda: store.begin_moves([ref], [migration])
        hosts = (0, 1) if record.step == "select" else (1,)
        moving = record.moving
        intent = Intent(
            *(uuid, record.attempt, [Candidate(f"{name_of(host)}/n") for host in hosts]),
            migration=None if moving is None else self._cluster.consumers[uuid][moving.number],
            source_attempt=None if moving is None else moving.source_attempt,
        )
        ledger = self._cluster.partition_of(name_of(hosts[0])).ledger
        epoch = ledger.store.snapshot().epoch
        is_fresh = record.is_certain
        return lambda: ledger.prepare(CTXT, SPEC, [intent], epoch, 2, fresh=is_fresh)

    def compare_records(self) -> None:
        self._cluster.compare()

    def vouch(self, attempt: str) -> None:
        claims = [claim for store in self.state.stores for claim in store.claims if claim.state == "unverified"]
        host = next(claim.host for claim in claims if claim.attempt == int(attempt))
        self._cluster.vouch(host, int(attempt))
        self._deliver(self._take_messages())

    # -- agents --------------------------------------------------------------------------------------------------------

    def confirm(self, host: str, attempt: str, suffix: str | None) -> None:
        agent, claims = self._cluster.agents[int(host)], self._cluster.claims_at(name_of(int(host)))
        refs = objects.ClaimRefs.of(consumers=[self._cluster.uuid], attempts=[int(attempt)])
        confirm = lambda: claims.confirm_claims(CTXT, name_of(int(host)), refs)  # noqa: E731
        if suffix == TWICE:
            self._late = confirm
        if suffix is not None and KILLED in suffix:
            confirm()
            agent.restart()
        else:
            agent.confirm(int(attempt))

    def start(self, host: str, attempt: str, fails: str | None) -> None:
        self._cluster.agents[int(host)].start(int(attempt), fails=bool(fails))

    def end_claim(self, host: str, attempt: str, twice: str | None) -> None:
        if twice:
            refs = objects.ClaimRefs.of(consumers=[self._cluster.uuid], attempts=[int(attempt)])
            claims = self._cluster.claims_at(name_of(int(host)))
            self._late = lambda: claims.release_claims(CTXT, name_of(int(host)), refs)
        self._cluster.agents[int(host)].end_claim(int(attempt))

    def report(self, host: str, attempt: str, killed: str | None) -> None:
        agent = self._cluster.agents[int(host)]
        if killed:
            self._cluster.lose_answer(lambda: agent.report(int(attempt)))
            agent.restart()
            self._take_messages()
        else:
            agent.report(int(attempt))
            self._deliver(self._take_messages())

    def remind(self, host: str, attempt: str) -> None:
        self._cluster.agents[int(host)].remind(int(attempt))

    def audit(self, host: str, is_over: str | None) -> None:
        self._cluster.grace_is_over = bool(is_over)
        self._cluster.agents[int(host)].audit()
        self._cluster.unverified.clear()

    def copy(self, host: str, event: str) -> None:
        self._cluster.agents[int(host)].advance_copies(fails=event == "fails")

    def kill(self, host: str) -> None:
        self._cluster.agents[int(host)].restart()

    # -- faults --------------------------------------------------------------------------------------------------------

    def silence(self, host: str) -> None:
        self._cluster.hosts.kill(name_of(int(host)))

    def power_off(self, host: str) -> None:
        self._cluster.hosts.kill(name_of(int(host)))
        self._cluster.hosts.lose_guests(name_of(int(host)))

    def come_back(self, host: str) -> None:
        name, agent = name_of(int(host)), self._cluster.agents[int(host)]
        self._cluster.hosts.dead.discard(name)
        self._cluster.scheduler.down.discard(name)
        if self.state.agents[int(host)].life == OFF:
            agent.restart()
        else:
            agent.manager.audit_duty.discharge(-1)

    def fence(self, host: str) -> None:
        partition = self._cluster.partition_of(name_of(int(host)))
        partition.backend.fence(name_of(int(host)))
        partition.store.state.alive[name_of(int(host))] = False

    def arrive_late(self) -> None:
        late, self._late = self._late, None
        if callable(late):
            late()
        else:
            self._deliver([late])

    def pass_deadline(self, partition: str | None) -> None:
        self._cluster.partitions[int(partition or 0)].backend.pass_deadline_of(self._cluster.uuid)

    def reap(self, partition: str | None) -> None:
        self._cluster.partitions[int(partition or 0)].store.reap(dead_after_ms=None, tombstone_ms=10 * HORIZON_MS)

    def request(self, name: str) -> None:
        cluster, record = self._cluster, self.state.record
        hosts = [host for host in self._plan.site.destination if record is None or host != record.host]
        requests: dict[str, Callable[[], None]] = {
            "boot": cluster.boot,
            "delete": lambda: cluster.delete([cluster.uuid]),
            "migrate": lambda: cluster.migrate_to(hosts[0] if len(hosts) == 1 else None),
            "live-migrate": lambda: cluster.move("live-migrate", 0, name_of(hosts[0]), SPEC),
            "resize": lambda: cluster.move("resize", 0, None, FLAVORS["m1.2"]),
            "evacuate": lambda: cluster.move("evacuate", 0, None, SPEC),
        }
        verb = name.removesuffix(AGAIN)
        requests.get(verb, lambda: cluster.end_move(verb, 0))()

    def forget_claims(self, partition: str | None) -> None:
        number = int(partition or 0)
        self._cluster.partitions[number].backend.forget_since(self._claims_mark[number])
        if not number and len(self._plan.site.partitions) == 2:  # the model lacks the cluster's third host
            self._cluster.hosts.audit("h3")

    def forget_records(self) -> None:
        self._cluster.restore_records(self._records_mark)
        self._cluster.now_ms += HORIZON_MS + 1

    def forget_all(self) -> None:
        for number in range(len(self._cluster.partitions)):
            self.forget_claims(str(number))
        self.forget_records()


FOLLOW: tuple[tuple[str, Callable[..., None]], ...] = (
    ("conductor compares with the claims", ClusterReplay.compare_records),
    (r"conductor vouches for attempt (\d+)", ClusterReplay.vouch),
    ("conductor (.*)", ClusterReplay.conduct),
    (r"agent (\d) confirms attempt (\d+): \w+([;,].*)?", ClusterReplay.confirm),
    (r"agent (\d) starts attempt (\d+)(, which fails)?", ClusterReplay.start),
    (r"agent (\d) ends the claim of attempt (\d+): \w*(;.*)?", ClusterReplay.end_claim),
    (r"agent (\d) reports attempt (\d+): [^,]*(,.*)?", ClusterReplay.report),
    (r"agent (\d) reports attempt (\d+) once more", ClusterReplay.remind),
    (r"agent (\d) audits( after the grace period)?", ClusterReplay.audit),
    (r"agent (\d) is killed", ClusterReplay.kill),
    (r"agent (\d) is silent", ClusterReplay.silence),
    (r"agent (\d): the copy (?:was |is )?(\w+)", ClusterReplay.copy),
    (r"host (\d) loses its power", ClusterReplay.power_off),
    (r"host (\d) returns", ClusterReplay.come_back),
    (r"operator fences host (\d)", ClusterReplay.fence),
    ("late: .*", ClusterReplay.arrive_late),
    (r"the deadline of the claim passes(?: in partition (\d))?", ClusterReplay.pass_deadline),
    (r"the reaper ends overdue claims(?: in partition (\d))?", ClusterReplay.reap),
    ("user: (.*)", ClusterReplay.request),
    (f"{CLAIMS_FORGOTTEN}(?: IN PARTITION (\\d))?", ClusterReplay.forget_claims),
    (RECORDS_FORGOTTEN, ClusterReplay.forget_records),
    (ALL_FORGOTTEN, ClusterReplay.forget_all),
)


def _comparable(record: Record | None) -> Record | None:
    if record is None or record.migration is None or record.migration.kind != "resize":
        return record
    return record._replace(migration=record.migration._replace(kind="cold"))


def _comparable_agent(agent: Agent, audit_due: bool) -> Agent:
    """Return an agent as journal and guests show it; the duty of one that is silent is known when it returns."""
    attempts = tuple(
        attempt._replace(
            has_disk=False,
            reported=int(attempt.reported == REPORTED),
            guest="running" if attempt.is_on else attempt.guest,
        )
        for attempt in agent.attempts
    )
    return Agent(ALIVE, agent.audit_due if agent.life == ALIVE else audit_due, attempts)
