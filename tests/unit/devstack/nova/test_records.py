# SPDX-License-Identifier: Apache-2.0
"""What Nova's records say is allocated, from a database with the columns that are read."""

import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

from devstack.nova import records
from tests.support.nova import comparison

TABLES = (
    "CREATE TABLE compute_nodes (hypervisor_hostname TEXT, uuid TEXT, deleted INTEGER)",
    "CREATE TABLE instances (uuid TEXT, node TEXT, host TEXT, vm_state TEXT, task_state TEXT, deleted INTEGER, "
    "hidden INTEGER DEFAULT 0)",
    "CREATE TABLE instance_extra (instance_uuid TEXT, flavor TEXT)",
    "CREATE TABLE migrations (uuid TEXT, instance_uuid TEXT, source_node TEXT, status TEXT, migration_type TEXT, "
    "deleted INTEGER, source_compute TEXT, dest_compute TEXT)",
    "INSERT INTO compute_nodes VALUES ('a', 'uuid-a', 0), ('b', 'uuid-b', 0), ('a', 'uuid-old', 7)",
)
SMALL = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 5}


@pytest.fixture
def database(tmp_path: Path) -> str:
    """The URL of a cell's database with two compute nodes."""
    url = f"sqlite:///{tmp_path}/nova.db"
    _execute(url, *TABLES)
    return url


def _execute(url: str, *statements: str, **values: Any) -> None:
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(sqlalchemy.text(statement), values)
    engine.dispose()


def _flavor(vcpus: int = 1, swap: int = 0, **extra_specs: str) -> dict[str, Any]:
    sizes = {"vcpus": vcpus, "memory_mb": 512, "root_gb": 4, "ephemeral_gb": 1, "swap": swap}
    return {"nova_object.data": {**sizes, "extra_specs": extra_specs}}


def _add(url: str, uuid: str, node: str | None, state: str = "active", old: Any = None, **flavor: Any) -> None:
    text = json.dumps({"cur": _flavor(**flavor), "old": old})
    _execute(
        url,
        "INSERT INTO instances (uuid, node, host, vm_state, deleted) VALUES (:uuid, :node, :node, :state, 0)",
        uuid=uuid,
        node=node,
        state=state,
    )
    _execute(url, "INSERT INTO instance_extra VALUES (:uuid, :text)", uuid=uuid, text=text)


def _migrate(url: str, instance: str, status: str, kind: str) -> None:
    statement = "INSERT INTO migrations VALUES ('migration', :instance, 'a', :status, :kind, 0, 'a', 'b')"
    _execute(url, statement, instance=instance, status=status, kind=kind)


def test_instance_holds_its_flavor_on_its_node(database: str) -> None:
    _add(database, "server", "a", swap=1500, **{"resources:CUSTOM_GPU": "2"})
    assert records.recorded(database) == {"server": {"uuid-a": {**SMALL, "DISK_GB": 7, "CUSTOM_GPU": 2}}}


@pytest.mark.parametrize(("node", "state"), [(None, "building"), ("a", "shelved_offloaded")])
def test_instance_without_a_host_holds_nothing(database: str, node: str | None, state: str) -> None:
    _add(database, "server", node, state)
    assert records.recorded(database) == {}


def test_unconfirmed_resize_holds_the_former_flavor_on_the_source(database: str) -> None:
    _add(database, "server", "b", "resized", old=_flavor(), vcpus=4)
    _migrate(database, "server", "finished", "resize")
    allocations = {"server": {"uuid-b": {**SMALL, "VCPU": 4}}, "migration": {"uuid-a": SMALL}}
    assert records.recorded(database) == allocations


def test_resize_to_another_cell_holds_what_the_visible_instance_says(database: str, tmp_path: Path) -> None:
    """Both cells have the records; in the source cell the migration is not updated to the end."""
    other = f"sqlite:///{tmp_path}/other.db"
    _execute(other, *TABLES[:-1], "INSERT INTO compute_nodes VALUES ('c', 'uuid-c', 0)")
    for url, node, status in ((database, "a", "post-migrating"), (other, "c", "finished")):
        _add(url, "server", node, "resized", old=_flavor(), vcpus=4)
        _migrate(url, "server", status, "resize")
    _execute(database, "UPDATE instances SET hidden = 1")
    allocations = {"server": {"uuid-c": {**SMALL, "VCPU": 4}}, "migration": {"uuid-a": SMALL}}
    assert records.recorded(other, database) == records.recorded(database, other) == allocations


def test_ended_migration_holds_nothing(database: str) -> None:
    _add(database, "server", "b")
    _migrate(database, "server", "confirmed", "resize")
    assert records.recorded(database) == {"server": {"uuid-b": SMALL}}


def test_evacuated_instance_holds_both_hosts_until_the_source_returns(database: str) -> None:
    _add(database, "server", "b")
    _migrate(database, "server", "done", "evacuation")
    assert records.recorded(database) == {"server": {"uuid-a": SMALL, "uuid-b": SMALL}}


@pytest.mark.parametrize(("state", "is_required"), [("active", True), ("stopped", True), ("error", False)])
def test_server_has_its_guest_on_its_host(database: str, state: str, is_required: bool) -> None:
    _add(database, "server", "a", state)
    hosts = {"server": frozenset("a")}
    assert comparison.guests(database) == comparison.Guests(hosts if is_required else {}, hosts)


def test_server_with_a_task_may_have_a_guest(database: str) -> None:
    _add(database, "server", "a")
    _execute(database, "UPDATE instances SET task_state = 'rebuilding'")
    assert comparison.guests(database) == comparison.Guests({}, {"server": frozenset("a")})


@pytest.mark.parametrize(
    ("status", "kind", "allowed"),
    [
        ("finished", "resize", "ab"),
        ("confirmed", "resize", "b"),
        ("done", "evacuation", "ab"),
        ("completed", "evacuation", "b"),
    ],
)
def test_source_of_a_move_may_have_a_guest_until_its_end(database: str, status: str, kind: str, allowed: str) -> None:
    _add(database, "server", "b", "resized")
    _migrate(database, "server", status, kind)
    assert comparison.guests(database) == comparison.Guests({"server": frozenset("b")}, {"server": frozenset(allowed)})


class _Placement:
    """A Placement with a tree of two providers; ``nested`` is held from its child."""

    def providers(self) -> list[dict[str, str]]:
        return [{"uuid": uuid, "root_provider_uuid": "uuid-a"} for uuid in ("uuid-a", "child")]

    def consumers(self, provider: str) -> dict[str, dict[str, int]]:
        if provider == "child":
            return {"nested": {"CUSTOM_GPU": 2, "NET_BW_EGR_KILOBIT_PER_SEC": 1000}}
        return {"equal": SMALL, "nested": SMALL, "other": SMALL}


def test_what_is_held_from_a_child_counts_for_its_tree(database: str) -> None:
    for uuid in ("equal", "other"):
        _add(database, uuid, "a")
    _add(database, "nested", "a", **{"resources:CUSTOM_GPU": "2"})
    assert records.differences([database], _Placement()) == []


def test_difference_names_the_consumer_and_both_sides(database: str) -> None:
    _add(database, "equal", "a")
    _add(database, "nested", "a", **{"resources:CUSTOM_GPU": "2"})
    _add(database, "other", "a", vcpus=2)
    _add(database, "unknown", "a")
    other, unknown = records.differences([database], _Placement())
    assert other.startswith("other holds {'uuid-a': {'VCPU': 1,") and "{'VCPU': 2," in other
    assert unknown.startswith("unknown holds None, but by Nova's records {'uuid-a'")


def test_attempts_are_the_builds_of_the_instances(database: str) -> None:
    _execute(
        database,
        "CREATE TABLE instance_actions (id INTEGER, instance_uuid TEXT)",
        "CREATE TABLE instance_actions_events (action_id INTEGER, event TEXT)",
        "INSERT INTO instance_actions VALUES (1, 'once'), (2, 'twice'), (3, 'other'), (4, 'never')",
        "INSERT INTO instance_actions_events VALUES (1, 'compute__do_build_and_run_instance'), "
        "(2, 'compute__do_build_and_run_instance'), (2, 'compute__do_build_and_run_instance'), "
        "(3, 'compute__do_build_and_run_instance'), (1, 'conductor_schedule_and_build_instances'), "
        "(4, 'conductor_schedule_and_build_instances')",
    )
    assert records.build_attempts(database, ["once", "twice", "never"]) == {"once": 1, "twice": 2}
