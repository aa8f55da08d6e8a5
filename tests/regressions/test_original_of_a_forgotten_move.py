# SPDX-License-Identifier: Apache-2.0
"""Regression: ``gantt audit --fix`` ended the original of two copies after the conductors' store forgot a move."""

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conductor.instances import InstanceReader
from conductor.leaked_migrations import LeakedMigrations
from conductor.migrations import MigrationReader
from conductor.store.memory_queue import MemoryQueue
from conductor.store.records import SagaStep
from rpcapi import errors, objects
from rpcapi.cli.audit import AuditCluster
from tests.property.moves_cluster import SPEC, MovesCluster
from tests.unit.conductor.ledger import PARTITION
from tests.unit.conductor.live_cluster import HOSTS
from tests.unit.conductor.saga.simulated_cluster import CTXT
from tests.unit.scheduler_svc.store.backends import memory_partition

STOPPING: dict[str, Callable[[Any], bool]] = {
    "migrate": lambda record: record.step == SagaStep.STOP_SOURCE,
    "live-migrate": lambda record: record.step == SagaStep.COPY,
}


class TwoCopies(MovesCluster):
    """One instance that runs twice, because its move was forgotten; and what ``gantt`` needs to audit it."""

    def check_runs_once(self) -> None:
        """Allow the two copies."""

    def forget_move(self, kind: str) -> None:
        """Let the conductors' store forget the move before the source stops, and the saga build a second copy."""
        data = [name for name, value in vars(self.store).items() if isinstance(value, dict | set | int | MemoryQueue)]
        kept = {name: copy.deepcopy(getattr(self.store, name)) for name in (*data, "_migrations")}
        self.ledger.ttl_ms = 60_000
        self.move(kind, 0, None, SPEC)
        while not STOPPING[kind](self.record(self.slots[0])):
            assert self.work() or self.hosts.deliver()
        self.hosts.queue.clear()
        for name, value in kept.items():
            setattr(self.store, name, value)
        self.store.begin_epoch()
        self.settle(60_000)
        self.compare()
        self.settle(600_000)

    @property
    def running(self) -> set[str]:
        return self.hosts.running_hosts(set(self.consumers[self.slots[0]]))

    # -- what the command calls ------------------------------------------------------------------------------------

    @property
    def conductor_api(self) -> Any:
        instances, migrations = InstanceReader(self.store, 100), MigrationReader(self.store, 100)
        leaked = LeakedMigrations(self.store, self.clients(), 100)
        return SimpleNamespace(
            list_instances=lambda marker, limit: instances.list(marker, limit, deleted=False),
            list_migrations=migrations.list,
            list_guests=lambda host, marker: self.hosts.list_guests(CTXT, host, marker, 100),
            end_leaked_migrations=lambda *arguments, **options: leaked.end(CTXT, *arguments, **options),
        )

    def audit(self, *options: str) -> tuple[int, list[dict[str, Any]]]:
        """Run ``gantt audit``; return its exit code and its rows."""
        command = AuditCluster(SimpleNamespace(connect=lambda: _Session(self)), None)
        arguments = command.get_parser("gantt").parse_args(["--pause", "0", "--timeout", "0", *options])
        columns, rows = command.take_action(arguments)
        found = [dict(zip(columns, map(str, row), strict=True)) for row in rows]
        self.settle()
        return command.exit_code, found


class _Session:
    """The session of a command whose services are in this thread."""

    def __init__(self, cluster: TwoCopies) -> None:
        self._cluster = cluster
        self.conductor = cluster.conductor_api
        self.scheduler = SimpleNamespace(list_host_state="list_host_state")

    def partitions(self) -> list[str]:
        return [PARTITION]

    def claims_of(self, partition: str) -> Any:
        return SimpleNamespace(list_claims=lambda marker, limit: self._cluster.claims.list_claims(CTXT, marker=marker))

    def list_all(self, method: Any, items: str, *_arguments: Any) -> Iterator[Any]:
        if method == "list_host_state":
            document = {"binary": "gantt-compute", "alive": True}
            return iter([SimpleNamespace(name=host, document=document, partition=PARTITION) for host in HOSTS])
        page = method(marker=None, limit=100)
        assert page.marker is None
        return iter(getattr(page, items))

    def call(self, method: Any, *arguments: Any, **options: Any) -> Any:
        return method(*arguments, **options)


@pytest.fixture(params=list(STOPPING))
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TwoCopies]:
    """A cluster in which an instance runs on h1, its original, and under its record's attempt on another host."""
    created = TwoCopies(tmp_path, memory_partition())
    created.settle()
    created._boot = lambda slot: None  # type: ignore[method-assign]
    created.delete_one(1)
    created.settle()
    created.forget_move(request.param)
    assert len(created.running) == 2 and "h1" in created.running
    yield created
    created.close()


@pytest.fixture
def audited(cluster: TwoCopies) -> TwoCopies:
    """The same after an audit of the source, which has heard of the hand-over of its claim."""
    cluster.hosts.audit("h1")
    return cluster


@pytest.mark.parametrize("options", [(), ("--yes",)])
def test_audit_ends_neither_copy_while_the_original_has_its_former_identity(
    cluster: TwoCopies, options: tuple[str, ...]
) -> None:
    """Given a source whose agent has not heard of the move: the claim of its guest is the migration's."""
    instance, migration = cluster.consumers[cluster.slots[0]]
    before = cluster.running
    code, rows = cluster.audit("--fix", *options)
    assert (code, {(row["difference"], row["instance"], row["host"], row["repair"]) for row in rows}) == (
        1,
        {("leaked migration", migration, "h1", "none"), ("second copy", instance, "h1", "none")},
    )
    cluster.hosts.audit("h1")
    cluster.settle()
    assert cluster.running == before


@pytest.mark.parametrize("options", [(), ("--yes",)])
def test_audit_ends_neither_copy_and_says_how_to_decide(audited: TwoCopies, options: tuple[str, ...]) -> None:
    instance, migration = audited.consumers[audited.slots[0]]
    before = audited.running
    code, (row,) = audited.audit("--fix", *options)
    assert (code, row["difference"], row["instance"], row["host"]) == (1, "leaked migration", migration, "h1")
    assert row["repair"] == f"none: needs --end {migration}"
    assert all(text in row["plan"] for text in (instance, f"on {max(before)} is the original", f"--end {migration}"))
    assert audited.running == before


@pytest.mark.parametrize("is_audited", [False, True])
def test_conductor_ends_neither_copy_for_a_caller_without_consent(cluster: TwoCopies, is_audited: bool) -> None:
    _instance, migration = cluster.consumers[cluster.slots[0]]
    if is_audited:
        cluster.hosts.audit("h1")
    before = cluster.running
    refs = objects.ClaimRefs.of(consumers=[migration], attempts=[1])
    with pytest.raises(errors.InstanceConflict, match="may be running on h1" if is_audited else "without a claim"):
        cluster.conductor_api.end_leaked_migrations(PARTITION, "h1", refs)
    cluster.settle()
    assert cluster.running == before


def test_copy_that_the_operator_names_is_ended(audited: TwoCopies) -> None:
    _instance, migration = audited.consumers[audited.slots[0]]
    others = audited.running - {"h1"}
    _code, (row,) = audited.audit("--fix", "--end", migration)
    assert row["repair"] == "ended at its host"
    assert audited.running == others
    assert audited.audit() == (0, [])
