# SPDX-License-Identifier: Apache-2.0
"""Server groups are made once: requests complete themselves from them, and none changes them."""

import re
import uuid
from functools import partial
from typing import Any

import pytest

from rpcapi import errors, objects
from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.records import ClaimGroup
from scheduler_svc.replication.partitions import OpenPartition, OpenPartitions
from scheduler_svc.replication.replica import Replica
from scheduler_svc.scheduling.server_groups import UNUSED_MS, ServerGroups
from scheduler_svc.store import documents
from tests.support.store.backends import memory_partition

OWNER, STRANGER = "owner", "stranger"
IDS = [str(uuid.UUID(int=number)) for number in range(1, 9)]


class Cells:
    """Groups of two partitions, with a clock that tests set."""

    def __init__(self) -> None:
        self.partitions = {
            name: memory_partition(namespaces=["server_group"], partition=name) for name in ("east", "west")
        }
        self.now_ms = 1
        self.groups = self.of_worker("east")

    def of_worker(self, own: str, limit: int = 3) -> ServerGroups:
        return self.worker(own, limit)[0]

    def worker(self, own: str = "east", limit: int = 3) -> tuple[ServerGroups, list[Replica]]:
        """Return the groups of a new worker, and its loaded replicas."""
        stores = [partition.store for partition in self.partitions.values()]
        replicas = [Replica(store) for store in stores]
        for replica in replicas:
            replica.load()
        partitions = OpenPartitions([OpenPartition(*pair) for pair in zip(stores, replicas, strict=True)], own)
        return ServerGroups(partitions, lambda: limit, lambda: self.now_ms), replicas

    def ids(self) -> list[str]:
        return [group.id for group in self.groups.page(None, None, 1000)[0]]


@pytest.fixture
def cells() -> Cells:
    return Cells()


def group(number: int = 0, **values: Any) -> objects.ServerGroup:
    return objects.ServerGroup.of(
        **({"id": IDS[number], "name": "web", "project": OWNER, "policy": "affinity"} | values)
    )


def spec(number: int = 0, **values: Any) -> objects.RequestSpec:
    return objects.RequestSpec.of(resources={"VCPU": 1}, group_id=IDS[number], **values)


def test_request_gets_the_rule_of_its_group(cells: Cells) -> None:
    cells.groups.create(group(policy="anti-affinity", max_per_host=2))
    repeated = {"group_policy": "anti-affinity", "group_max_per_host": 2}
    for values in ({}, {"group_policy": "anti-affinity"}, repeated):
        for own in cells.partitions:
            completed = cells.of_worker(own).complete(spec(**values), OWNER, creates=True)
            assert (completed.group_policy, completed.group_max_per_host) == ("anti-affinity", 2)


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ({"group_policy": "affinity"}, "group_policy anti-affinity, not affinity"),
        ({"group_policy": "anti-affinity", "group_max_per_host": 9}, "group_max_per_host 2, not 9"),
        ({"group_max_per_host": 1}, "group_max_per_host 2, not 1"),
    ],
)
@pytest.mark.parametrize("creates", [True, False])
def test_contradiction_is_refused_and_changes_nothing(
    cells: Cells, values: dict[str, Any], what: str, creates: bool
) -> None:
    recorded = cells.groups.create(group(policy="anti-affinity", max_per_host=2))
    with pytest.raises(errors.GroupContradicted, match=what):
        cells.groups.complete(spec(**values), OWNER, creates=creates)
    assert cells.groups.get(IDS[0], OWNER).values_set() == recorded.values_set()


@pytest.mark.parametrize("values", [{}, {"group_policy": "affinity"}])
@pytest.mark.parametrize("creates", [True, False])
def test_group_of_another_project_does_not_exist(cells: Cells, values: dict[str, Any], creates: bool) -> None:
    cells.groups.create(group())
    with pytest.raises(errors.NotFound):
        cells.groups.complete(spec(**values), STRANGER, creates=creates)
    with pytest.raises(errors.NotFound):
        cells.groups.get(IDS[0], STRANGER)
    cells.groups.delete(IDS[0], STRANGER)
    assert (cells.groups.page(STRANGER, None, 10), cells.ids()) == (([], None), [IDS[0]])


def test_first_request_that_brings_a_policy_makes_the_group(cells: Cells) -> None:
    first = cells.groups.complete(spec(group_policy="affinity"), OWNER, creates=True)
    assert first.group_max_per_host == 1
    assert cells.of_worker("west").complete(spec(), OWNER, creates=True).group_policy == "affinity"
    with pytest.raises(errors.GroupContradicted):
        cells.of_worker("west").complete(spec(group_policy="anti-affinity"), OWNER, creates=True)


def test_unknown_group_without_a_policy_is_refused(cells: Cells) -> None:
    with pytest.raises(errors.NotFound):
        cells.groups.complete(spec(), OWNER, creates=True)
    assert cells.ids() == []


def test_dry_run_makes_no_group(cells: Cells) -> None:
    completed = cells.groups.complete(spec(group_policy="anti-affinity"), OWNER, creates=False)
    assert (completed.group_max_per_host, cells.ids()) == (1, [])


def test_invalid_request_makes_no_group(cells: Cells) -> None:
    with pytest.raises(errors.InvalidSpec):
        cells.groups.complete(spec(group_policy="affinity", availability_zone=" east"), OWNER, creates=True)
    assert cells.ids() == []


def test_repeated_creation_is_the_same_and_another_one_conflicts(cells: Cells) -> None:
    for own in cells.partitions:
        cells.of_worker(own).create(group())
    assert cells.ids() == [IDS[0]]
    for values in ({"policy": "anti-affinity"}, {"project": STRANGER}, {"name": "db"}):
        with pytest.raises(errors.Conflict, match="belongs to another group"):
            cells.groups.create(group(**values))


@pytest.mark.parametrize(
    "values", [{"policy": "apart"}, {"max_per_host": 2}, {"policy": "anti-affinity", "max_per_host": 0}, {"id": "web"}]
)
def test_invalid_group_is_refused(cells: Cells, values: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidRequest):
        cells.groups.create(group(**values))
    assert cells.ids() == []


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"name": " "}, "' ' is not the name of a server group"),
        ({"name": IDS[1]}, "is not the name of a server group: a uuid would be ambiguous"),
        ({"project": ""}, "a server group needs a project of 1 to 255 printable characters, not ''"),
        ({"project": "p" * 256}, "a server group needs a project"),
        ({"project": "a\nb"}, "a server group needs a project"),
    ],
)
def test_group_needs_a_name_and_a_project(cells: Cells, values: dict[str, Any], error: str) -> None:
    with pytest.raises(errors.InvalidRequest, match=re.escape(error)):
        cells.groups.create(group(**values))
    assert cells.ids() == []


@pytest.mark.parametrize("maximum", [True, 1.5, "2"])
def test_maximum_of_members_is_an_integer(maximum: Any) -> None:
    with pytest.raises(errors.MalformedObject, match="Field max_per_host must be an integer"):
        group(policy="anti-affinity", max_per_host=maximum)
    with pytest.raises(errors.MalformedObject, match="group_max_per_host must be an integer"):
        spec(group_max_per_host=maximum)


def test_project_has_a_limited_number_of_groups(cells: Cells) -> None:
    for number in range(3):
        cells.groups.create(group(number))
    cells.groups.create(group(2))  # a repetition
    with pytest.raises(errors.QuotaExceeded, match="has 3 server groups"):
        cells.groups.create(group(3))
    cells.groups.create(group(3, project=STRANGER))
    cells.groups.delete(IDS[0], OWNER)
    cells.groups.create(group(4))


def test_groups_of_all_partitions_are_paged_by_id(cells: Cells) -> None:
    for number, project in enumerate([OWNER, STRANGER] * 4):
        cells.of_worker("west", limit=9).create(group(number, project=project))
    assert all(
        store.list_state("server_group")[0] for store in (partition.store for partition in cells.partitions.values())
    )
    pages, marker = [], None
    while True:
        page, marker = cells.groups.page(OWNER, marker, 3)
        pages.append([item.id for item in page])
        if marker is None:
            break
    assert pages == [IDS[0:6:2], IDS[6::2]]


@pytest.mark.parametrize(("project", "count"), [(None, 2), (OWNER, 4)])
def test_page_reads_no_more_groups_than_it_needs(
    cells: Cells, monkeypatch: pytest.MonkeyPatch, project: str | None, count: int
) -> None:
    counts: list[int] = []

    def count_rows(read: Any, *args: Any) -> Any:
        page, marker = read(*args)
        counts.append(len(page))
        return page, marker

    for partition in cells.partitions.values():
        store = partition.store
        for number in IDS[:4]:
            store.put_state("server_group", number, 0, {"project": OWNER, "policy": "affinity", "max_per_host": 1})
        monkeypatch.setattr(store, "list_state", partial(count_rows, store.list_state))
    page, marker = cells.groups.page(project, None, 1)
    assert ([item.id for item in page], marker) == ([IDS[0]], IDS[0])
    assert counts == [count, count]


def test_group_with_members_is_kept(cells: Cells) -> None:
    cells.groups.complete(spec(group_policy="affinity"), OWNER, creates=True)
    west = cells.partitions["west"]
    west.add_host("h1")
    west.hold("c1", "h1", group=ClaimGroup(IDS[0], GroupPolicy.AFFINITY))
    with pytest.raises(errors.GroupInUse, match=r"has members \(1\)"):
        cells.groups.delete(IDS[0], OWNER)
    cells.now_ms += 2 * UNUSED_MS
    cells.groups.delete_unused()
    assert cells.ids() == [IDS[0]]


def test_only_old_implicit_groups_without_members_are_cleaned_up(cells: Cells) -> None:
    cells.groups.create(group(0))
    cells.groups.complete(spec(1, group_policy="affinity"), OWNER, creates=True)
    cells.now_ms += UNUSED_MS
    cells.groups.complete(spec(2, group_policy="affinity"), OWNER, creates=True)
    cells.groups.delete_unused()
    assert cells.ids() == [IDS[0], IDS[1], IDS[2]]
    cells.now_ms += 1
    cells.groups.delete_unused()
    assert cells.ids() == [IDS[0], IDS[2]]


@pytest.mark.parametrize("limit", [0, 1, 1001])
def test_limit_of_groups_does_not_count_those_of_nova(cells: Cells, limit: int) -> None:
    groups = cells.of_worker("east", limit)
    groups.complete(spec(7, group_policy="affinity"), OWNER, creates=True, is_external=True)
    for number in range(min(limit, 3)):
        groups.create(group(number))
    if limit < 3:
        with pytest.raises(errors.QuotaExceeded):
            groups.create(group(3))


def test_parallel_creations_do_not_pass_the_limit(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    east, west = cells.of_worker("east", 1), cells.of_worker("west", 1)
    put = east._put

    def put_late(*arguments: Any) -> Any:
        west.create(group(1))
        return put(*arguments)

    monkeypatch.setattr(east, "_put", put_late)
    with pytest.raises(errors.QuotaExceeded):
        east.create(group(0))
    assert cells.ids() == [IDS[1]]


def hold_member(cells: Cells) -> None:
    west = cells.partitions["west"]
    west.add_host("h1")
    west.hold("c1", "h1", group=ClaimGroup(IDS[0], GroupPolicy.AFFINITY))


def test_uuid_with_members_is_not_given_to_another_group(cells: Cells) -> None:
    hold_member(cells)  # of a group whose document the store forgot
    with pytest.raises(errors.Conflict, match="belongs to another group"):
        cells.groups.create(group(project=STRANGER))
    cells.groups.complete(spec(group_policy="affinity"), OWNER, creates=True)
    assert cells.groups.get(IDS[0], OWNER).policy == "affinity"


def test_claim_beside_a_deletion_keeps_the_group(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = cells.groups.create(group())
    for partition in cells.partitions.values():
        put = partition.store.put_state

        def delete_after_a_claim(*arguments: Any, _put: Any = put) -> Any:
            if "deleted_ms" in arguments[-1]:
                hold_member(cells)
            return _put(*arguments)

        monkeypatch.setattr(partition.store, "put_state", delete_after_a_claim)
    with pytest.raises(errors.GroupInUse):
        cells.groups.delete(IDS[0], OWNER)
    assert cells.groups.get(IDS[0], OWNER).values_set() == recorded.values_set()


def test_silent_partition_gets_no_further_calls(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    for partition in cells.groups._partitions:
        partition.presence.record_failure()
        monkeypatch.setattr(partition.store, "find_state", pytest.fail)
    with pytest.raises(errors.StoreUnavailable, match="does not answer"):
        cells.groups.get(IDS[0], OWNER)


@pytest.mark.parametrize("creates", [True, False])
def test_forgotten_group_is_unavailable_until_all_workers_have_repeated_it(
    cells: Cells, creates: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given two workers, of which one read the group, and stores that forget it
    marks = {name: partition.mark() for name, partition in cells.partitions.items()}
    (other, other_replicas) = cells.worker()
    recorded = cells.groups.create(group(policy="anti-affinity"))
    groups, replicas = cells.worker()
    for name, partition in cells.partitions.items():
        partition.forget_since(marks[name])

    def check_unavailable(worker: ServerGroups) -> None:
        for values in ({}, {"group_policy": "affinity"}):
            with pytest.raises(errors.StoreUnavailable, match="restored after a failover"):
                worker.complete(spec(**values), OWNER, creates=creates)
        with pytest.raises(errors.StoreUnavailable, match="restored after a failover"):
            worker.get(recorded.id, OWNER)

    check_unavailable(groups)
    check_unavailable(other)
    # The other worker follows the new epoch first; it cannot know what it never read
    for replica in other_replicas:
        replica.load()
    check_unavailable(other)
    for replica in replicas:
        replica.load()
    for worker in (groups, other):
        assert worker.get(recorded.id, OWNER).name == "web"
        with pytest.raises(errors.GroupContradicted):
            worker.complete(spec(group_policy="affinity"), OWNER, creates=creates)
    # Later an unknown group is unknown again
    monkeypatch.setattr("scheduler_svc.scheduling.server_groups.REPEAT_SECONDS", 0.0)
    with pytest.raises(errors.NotFound):
        other.get(IDS[5], OWNER)


def test_repeated_group_replaces_one_that_a_request_made_since_the_loss(cells: Cells) -> None:
    marks = {name: partition.mark() for name, partition in cells.partitions.items()}
    recorded = cells.groups.create(group(policy="anti-affinity"))
    groups, replicas = cells.worker()
    for name, partition in cells.partitions.items():
        partition.forget_since(marks[name])
    # A worker that started after the loss does not know of it
    fresh, _replicas = cells.worker()
    assert fresh.complete(spec(group_policy="affinity"), OWNER, creates=True).group_policy == "affinity"
    for replica in replicas:
        replica.load()
    assert (groups.get(recorded.id, OWNER).policy, groups.get(recorded.id, OWNER).name) == ("anti-affinity", "web")


def test_request_restores_its_deleted_group(cells: Cells) -> None:
    recorded = cells.groups.create(group(policy="anti-affinity", max_per_host=2))
    accepted = cells.groups.complete(spec(), OWNER, creates=True)
    cells.groups.delete(IDS[0], OWNER)
    cells.groups.delete(IDS[0], OWNER)
    assert cells.ids() == []
    with pytest.raises(errors.NotFound):
        cells.groups.get(IDS[0], None)
    with pytest.raises(errors.NotFound):  # a new request
        cells.groups.complete(spec(), OWNER, creates=True)
    with pytest.raises(errors.GroupContradicted):
        cells.groups.complete(spec(group_policy="affinity"), OWNER, creates=True)
    assert cells.groups.complete(accepted, OWNER, creates=False).group_max_per_host == 2  # a dry run
    assert cells.ids() == []
    assert cells.of_worker("west").complete(accepted, OWNER, creates=True).values_set() == accepted.values_set()
    assert cells.groups.get(IDS[0], OWNER).values_set() == recorded.values_set()


@pytest.mark.parametrize("own", ["east", "west"])
def test_uuid_of_a_deleted_group_is_taken_by_no_other_group(cells: Cells, own: str) -> None:
    recorded = cells.groups.create(group())
    cells.groups.delete(IDS[0], OWNER)
    worker = cells.of_worker(own)
    for values in ({"project": STRANGER}, {"policy": "anti-affinity"}, {"name": "db"}):
        with pytest.raises(errors.Conflict, match="or to a deleted one"):
            worker.create(group(**values))
    with pytest.raises(errors.NotFound):
        worker.complete(spec(group_policy="affinity"), STRANGER, creates=True)
    assert cells.ids() == []
    assert worker.create(group()).values_set() == recorded.values_set()
    assert cells.ids() == [IDS[0]]


def test_restored_group_counts_in_the_limit(cells: Cells) -> None:
    groups = cells.of_worker("east", limit=1)
    groups.create(group())
    groups.delete(IDS[0], OWNER)
    groups.create(group(1))
    with pytest.raises(errors.QuotaExceeded):
        groups.complete(spec(group_policy="affinity"), OWNER, creates=True)
    assert cells.ids() == [IDS[1]]
    groups.delete(IDS[1], OWNER)
    groups.complete(spec(group_policy="affinity"), OWNER, creates=True)
    with pytest.raises(errors.QuotaExceeded):
        groups.create(group(2))


def test_implicit_group_of_a_request_counts_in_the_limit(cells: Cells) -> None:
    groups = cells.of_worker("east", limit=1)
    groups.complete(spec(0, group_policy="affinity"), OWNER, creates=True)
    with pytest.raises(errors.QuotaExceeded):
        groups.complete(spec(1, group_policy="affinity"), OWNER, creates=True)
    groups.complete(spec(2, group_policy="affinity"), OWNER, creates=True, is_external=True)
    assert cells.ids() == [IDS[0], IDS[2]]


def test_document_of_a_deleted_group_is_no_larger(cells: Cells) -> None:
    """A full store would refuse a larger one."""
    cells.groups.create(group())

    def size() -> int:
        stores = [partition.store for partition in cells.partitions.values()]
        ((_, _, document),) = [row for store in stores for row in store.list_state("server_group")[0]]
        return len(documents.encode(document))

    before = size()
    cells.groups.delete(IDS[0], OWNER)
    assert size() == before


def test_parallel_deletions_delete_once(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    east, west = cells.of_worker("east"), cells.of_worker("west")
    east.create(group())
    check = east._check_unused

    def check_late(group_id: str) -> None:
        west.delete(group_id, OWNER)
        check(group_id)

    monkeypatch.setattr(east, "_check_unused", check_late)
    east.delete(IDS[0], OWNER)
    assert cells.ids() == []


def test_documents_of_the_groups_deleted_last_stay(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduler_svc.scheduling.server_groups.MAX_DELETED", 2)
    groups = cells.of_worker("east", limit=9)
    groups.create(group(7))
    for number, project in enumerate([STRANGER] + [OWNER] * 4):
        groups.create(group(number, project=project))
        cells.now_ms += 1
        groups.delete(IDS[number], project)
    stores = [partition.store for partition in cells.partitions.values()]
    stored = {name for store in stores for name, _, _ in store.list_state("server_group")[0]}
    assert stored == {IDS[number] for number in (0, 3, 4, 7)}
    # A request whose group is forgotten makes one without a name
    assert groups.complete(spec(1, group_policy="affinity"), OWNER, creates=True).group_policy == "affinity"
    assert groups.get(IDS[1], OWNER).name == ""


def test_parallel_requests_restore_the_last_group_of_the_limit(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    east, west = cells.of_worker("east", 1), cells.of_worker("west", 1)
    east.create(group())
    east.delete(IDS[0], OWNER)
    record = east._record

    def record_late(*arguments: Any) -> Any:
        west.complete(spec(group_policy="affinity"), OWNER, creates=True)
        return record(*arguments)

    monkeypatch.setattr(east, "_record", record_late)
    assert east.complete(spec(group_policy="affinity"), OWNER, creates=True).group_policy == "affinity"
    assert cells.ids() == [IDS[0]]
