# SPDX-License-Identifier: Apache-2.0
"""Comparison of guests, claims and records: each difference once, and none for what agrees."""

from types import SimpleNamespace
from typing import Any

import pytest

from rpcapi.cli.comparison import AgentGuest, ClusterReading, compare


def claim(host: str = "h1/n", attempt: int = 1, state: str = "confirmed", **values: Any) -> dict[str, Any]:
    document = {"consumer": "a", "attempt": attempt, "state": state, "host": host, "type": "INSTANCE"}
    return {**document, "role": "only", "migration": None, **values}


def record(host: str | None = "h1/n", attempt: int = 1, status: str = "ACTIVE", uuid: str = "a") -> Any:
    return SimpleNamespace(uuid=uuid, attempt=attempt, host=host, status=status)


def guest(node: str = "h1/n", attempt: int = 1, state: str = "running", uuid: str = "a") -> AgentGuest:
    return AgentGuest(uuid, attempt, node, state)


def migration(status: str = "finished", uuid: str = "m", source_host: str = "h1/n") -> Any:
    return SimpleNamespace(
        **{"uuid": uuid, "instance": "a", "kind": "migration", "status": status, "source_host": source_host},
        **{"source_attempt": 1, "destination_host": "h2/n", "destination_attempt": 2},
    )


def source_claim(**values: Any) -> dict[str, Any]:
    return claim(**{"type": "MIGRATION", "role": "source", "migration": "m", **values})


MOVED = {
    "claims": [claim("h2/n", 2, role="destination", migration="m")],
    "records": [record("h2/n", 2, "VERIFY_RESIZE")],
    "guests": [guest("h2/n", 2)],
}


def moved(migrations: Any, claims: Any = (), guests: Any = ()) -> dict[str, Any]:
    """Return the sides of a server at its destination, and of its source."""
    sides = {"claims": [*MOVED["claims"], *claims], "guests": [*MOVED["guests"], *guests]}
    return {**MOVED, **sides, "migrations": migrations}


def kinds(
    claims: Any = (), records: Any = (), guests: Any = (), silent: Any = (), migrations: Any = ()
) -> list[tuple[Any, ...]]:
    """Return the differences without their details."""
    by_uuid = {item.uuid: item for item in migrations}
    reading = ClusterReading(claims, {item.uuid: item for item in records}, guests, silent, by_uuid)
    return [difference[:4] for difference in compare(reading)]


UNHELD: dict[str, Any] = {"unheld": {"san/pool": {"DISK_GB": 60}}}
SOURCE = source_claim()


@pytest.mark.parametrize(
    "sides",
    [
        {},
        {"claims": [claim()], "records": [record()], "guests": [guest()]},
        {"claims": [claim()], "records": [record()], "guests": [guest(state="confirmed")]},
        {"claims": [claim()], "records": [record(status="BUILDING")], "guests": [guest()]},
        {"claims": [claim(state="prepared")], "records": [record(status="BUILDING")]},
        {"records": [record(status="ERROR")]},
        {"records": [record(host=None, status="SCHEDULING")]},
        {"claims": [claim("@api/n", type="MIGRATION")]},
        moved([migration()], [source_claim()], [guest()]),
        moved([migration("confirmed")]),
        {
            "claims": [claim()],
            "records": [record(status="RESIZE")],
            "guests": [guest()],
            "migrations": [migration("preparing")],
        },
    ],
)
def test_sides_that_agree_have_no_difference(sides: dict[str, Any]) -> None:
    assert kinds(**sides) == []


@pytest.mark.parametrize(
    ("sides", "difference"),
    [
        ({"records": [record()], "guests": [guest()]}, ("guest without claim", "a", 1, "h1")),
        (moved([migration()], [], [guest()]), ("guest without claim", "a", 1, "h1")),
        (moved([migration()], [source_claim()]), ("claim without guest", "a", 1, "h1")),
        (moved([migration()]), ("record without claim", "a", 1, "h1")),
        (moved([migration("reverted")], [source_claim()]), ("leaked migration", "a", 1, "h1")),
        (moved([migration("confirmed")], [source_claim()], [guest()]), ("leaked migration", "a", 1, "h1")),
        (moved([], [source_claim()], [guest()]), ("leaked migration", "a", 1, "h1")),
        (
            moved([migration()], [source_claim(host="h3/n")], [guest("h3/n")]),
            ("guest and record differ", "a", 1, "h3"),
        ),
        (
            {"claims": [claim(attempt=2)], "records": [record()], "guests": [guest()]},
            ("guest without claim", "a", 1, "h1"),
        ),
        (
            {"claims": [claim(state="prepared")], "records": [record()], "guests": [guest()]},
            ("guest without claim", "a", 1, "h1"),
        ),
        (
            {"claims": [claim(state="unverified")], "records": [record()], "guests": [guest()]},
            ("unverified claim", "a", 1, "h1"),
        ),
        (
            {"claims": [claim() | UNHELD], "records": [record()], "guests": [guest()]},
            ("guest exceeds claim", "a", 1, "h1"),
        ),
        ({"claims": [claim() | UNHELD], "guests": [guest()]}, ("guest without record", "a", 1, "h1")),
        ({"claims": [claim()], "guests": [guest()]}, ("guest without record", "a", 1, "h1")),
        (
            {"claims": [claim()], "records": [record(host="h2/n")], "guests": [guest()]},
            ("guest and record differ", "a", 1, "h1"),
        ),
        (
            {"claims": [claim()], "records": [record(status="ERROR")], "guests": [guest()]},
            ("guest and record differ", "a", 1, "h1"),
        ),
        (
            {"claims": [claim()], "records": [record()], "guests": [guest(state="unjournalled")]},
            ("guest without journal", "a", 1, "h1"),
        ),
        ({"claims": [claim()], "records": [record()]}, ("claim without guest", "a", 1, "h1")),
        (
            {"claims": [source_claim(state="unverified")], "guests": [guest()], "migrations": [migration()]},
            ("unverified claim", "a", 1, "h1"),
        ),
        ({"claims": [source_claim()], "records": [record()], "guests": [guest()]}, ("leaked migration", "a", 1, "h1")),
        ({"claims": [claim(state="unverified")]}, ("claim without guest", "a", 1, "h1")),
        ({"records": [record()]}, ("record without claim", "a", 1, "h1")),
        ({"claims": [claim()], "records": [record()], "silent": ["h1"]}, ("host not compared", None, None, "h1")),
    ],
)
def test_difference_is_named_once(sides: dict[str, Any], difference: tuple[Any, ...]) -> None:
    assert kinds(**sides) == [difference]


@pytest.mark.parametrize("guests", [[], [guest()]], ids=["claim only", "with its guest"])
@pytest.mark.parametrize("status", ["confirmed", "reverted", "error", "completed", "cancelled", None])
def test_claim_of_a_migration_that_ended_or_is_unknown_is_leaked(status: str | None, guests: list[AgentGuest]) -> None:
    migrations = [] if status is None else [migration(status)]
    sides = {"claims": [SOURCE, claim("h2/n", 2)], "records": [record("h2/n", 2)], "migrations": migrations}
    expected = [("leaked migration", "a", 1, "h1")]
    assert kinds(**sides, guests=[*guests, guest("h2/n", 2)]) == expected
    assert [item[0] for item in kinds(**sides, guests=[guest("h2/n", 2)], silent=["h1"])] == ["host not compared"]


def test_guest_that_exceeds_its_claim_is_shown_with_what_it_uses() -> None:
    reading = ClusterReading([claim() | UNHELD], {"a": record()}, [guest()], [])
    assert [item.detail for item in compare(reading)] == ["it uses 60 DISK_GB from san/pool; its claim holds less"]


def test_other_differences_of_a_migration_that_is_under_way() -> None:
    open_migrations = {"migrations": [migration()]}
    assert kinds([SOURCE], **open_migrations) == [("claim without guest", "a", 1, "h1")]
    assert kinds(guests=[guest()], **open_migrations) == [("guest without claim", "a", 1, "h1")]


def test_server_that_moves_is_compared_at_its_destination_while_its_record_names_the_source() -> None:
    open_migrations = {"migrations": [migration("migrating")]}
    sides = {"claims": [SOURCE, claim("h2/n", 2)], "guests": [guest(), guest("h2/n", 2, "incoming")]}
    moving = record("h1/n", 2, "MIGRATING")
    assert kinds(**sides, records=[moving], **open_migrations) == []
    assert kinds(**sides, records=[moving]) != []
    # It returns to its source, where its claim is the only one again
    returned = {"claims": [claim()], "guests": [guest()], "records": [record()]}
    assert kinds(**returned, migrations=[migration("reverting")]) == []


def test_second_copy_is_the_guest_without_the_claim() -> None:
    guests = [guest(), guest("h2/n", attempt=2)]
    assert kinds([claim("h2/n", attempt=2)], [record("h2/n", attempt=2)], guests) == [("second copy", "a", 1, "h1")]
    # The same attempt twice, and neither under a claim
    guests = [guest(), guest("h2/n")]
    assert kinds([claim()], [record()], guests) == [("second copy", "a", 1, "h2")]
    assert [kind for kind, *_place in kinds([], [record()], guests)] == ["second copy"] * 2


def test_details_name_the_other_sides() -> None:
    reading = ClusterReading([claim("h2/n", attempt=2)], {"a": record()}, [guest()], ())
    assert [item.detail for item in compare(reading)] == ["the claim is attempt 2 on h2"]
    for migrations, detail in (({}, "has no record"), ({"m": migration("error")}, "is error")):
        reading = ClusterReading([source_claim()], {}, [guest()], (), migrations)
        assert [item.detail for item in compare(reading)] == [f"migration m {detail}"]
    (silent,) = compare(ClusterReading([claim()], {"a": record(), "b": record(uuid="b")}, [], ["h1", "h9"]))[-1:]
    assert silent.detail == "its agent does not answer; 2 instances"
