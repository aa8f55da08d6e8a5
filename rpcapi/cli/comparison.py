# SPDX-License-Identifier: Apache-2.0
"""Comparison of the agents' guests, the conductor's records and the stored claims."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from rpcapi.resources import names
from rpcapi.resources.claims import INSTANCE, ClaimRole, ClaimState
from rpcapi.resources.statuses import (
    ENDED_MIGRATIONS,
    ON_HOST,
    GuestState,
    InstanceStatus,
    MigrationKind,
    MigrationStatus,
)

SOURCE = "SOURCE"  # status of the record expected at the source of a finished move
WITH_GUEST = ON_HOST | {SOURCE}


class Difference(NamedTuple):
    """Difference between guests, claims and records, identified by the fields before ``detail``."""

    kind: str
    instance: str | None
    attempt: int | None
    host: str
    detail: str


class AgentGuest(NamedTuple):
    """Guest that an agent lists, with a state of rpcapi.objects.GuestPage."""

    uuid: str
    attempt: int
    node: str
    state: str

    @property
    def place(self) -> "Place":
        return Place(self.uuid, self.attempt, names.host_of(self.node))


class Place(NamedTuple):
    uuid: str
    attempt: int
    host: str


class RecordedEnd(NamedTuple):
    """End of an open migration, with the fields of a server record; status SOURCE: the server has moved."""

    uuid: str
    attempt: int
    host: str
    status: str


@dataclass(frozen=True)
class ClusterReading:
    """Guests, claims and recorded instances and migrations by uuid; agents of ``silent`` hosts did not answer."""

    claims: Sequence[Mapping[str, Any]]
    instances: Mapping[str, Any]
    guests: Sequence[AgentGuest]
    silent: Collection[str]
    migrations: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def open_migrations(self) -> list[Any]:
        return [item for item in self.migrations.values() if _is_open(item) and item.kind != MigrationKind.EVACUATION]

    @cached_property
    def sources(self) -> list[RecordedEnd]:
        """Sources of open migrations, except those whose attempt is in the server's record."""
        servers = {(server.uuid, server.attempt) for server in self.instances.values()}
        return [
            RecordedEnd(item.instance, item.source_attempt, item.source_host, _status_of_source(item))
            for item in self.open_migrations
            if (item.instance, item.source_attempt) not in servers
        ]

    @cached_property
    def expected(self) -> dict[tuple[str, int], Any]:
        """Recorded servers and sources by (instance, attempt); the host of a moving server is its destination."""
        ends: dict[tuple[str, int], Any] = {(end.uuid, end.attempt): end for end in self.sources}
        ends |= {(server.uuid, server.attempt): server for server in self.instances.values()}
        for migration in self.open_migrations:
            server = self.instances.get(migration.instance)
            if server is not None and server.attempt == migration.destination_attempt:
                ends[server.uuid, server.attempt] = RecordedEnd(
                    server.uuid, server.attempt, migration.destination_host, server.status
                )
        return ends

    @cached_property
    def claim_states(self) -> dict[Place, str]:
        return {
            place_of_claim(claim): claim["state"]
            for claim in self.claims
            if claim["type"] == INSTANCE or claim["role"] == ClaimRole.SOURCE
        }

    def migration_of(self, place: Place) -> Any:
        uuids = (claim["migration"] for claim in self.claims if place_of_claim(claim) == place)
        return next((self.migrations.get(uuid) for uuid in uuids if uuid), None)

    def confirmed_host(self, instance: str) -> str | None:
        """Return the host on which an instance's record, confirmed claim and guest agree."""
        server = self.instances.get(instance)
        record = None if server is None else self.expected.get((instance, server.attempt))
        if record is None or record.status not in ON_HOST:
            return None
        place = _place_of(record)
        has_guest = any(guest.place == place and guest.state != GuestState.UNJOURNALLED for guest in self.guests)
        return place.host if has_guest and self.claim_states.get(place) == ClaimState.CONFIRMED else None


def compare(reading: ClusterReading) -> list[Difference]:
    """Return all differences; a guest's difference hides differences of its instance's claim and record."""
    leaked = list(_leaked_migrations(reading))
    leaked_places = {difference[1:4] for difference in leaked}
    of_guests = [item for item in _guest_differences(reading) if item[1:4] not in leaked_places]
    instances = {difference.instance for difference in of_guests}
    without_guests = [
        difference
        for difference in (*_claim_differences(reading), *_record_differences(reading))
        if difference.instance not in instances and difference[1:4] not in leaked_places
    ]
    return [*leaked, *of_guests, *without_guests, *_silent_hosts(reading)]


def _leaked_migrations(reading: ClusterReading) -> Iterator[Difference]:
    """Yield confirmed source claims whose migration has ended or has no record."""
    for claim in reading.claims:
        place, record = place_of_claim(claim), reading.migrations.get(claim["migration"])
        is_source = claim["role"] == ClaimRole.SOURCE and claim["state"] == ClaimState.CONFIRMED
        if is_source and not _is_open(record) and place.host not in reading.silent:
            fate = "has no record" if record is None else f"is {record.status}"
            yield Difference("leaked migration", *place, f"migration {claim['migration']} {fate}")


def place_of_claim(claim: Mapping[str, Any]) -> Place:
    return Place(claim["consumer"], claim["attempt"], names.host_of(claim["host"]))


def _is_open(migration: Any) -> bool:
    return migration is not None and migration.status not in ENDED_MIGRATIONS


def _status_of_source(migration: Any) -> str:
    return SOURCE if migration.status == MigrationStatus.FINISHED else str(migration.status)


def _place_of(record: Any) -> Place:
    return Place(record.uuid, record.attempt, names.host_of(record.host or ""))


def _guest_differences(reading: ClusterReading) -> Iterator[Difference]:
    sources = {_place_of(source) for source in reading.sources}
    counts = Counter(guest.uuid for guest in reading.guests if guest.place not in sources)
    places = defaultdict(list)
    for place in reading.claim_states:
        places[place.uuid].append(place)
    # Amounts that guests use beyond their claims, as agents report.
    unheld = {place_of_claim(claim): claim["unheld"] for claim in reading.claims if claim.get("unheld")}
    for guest in reading.guests:
        place = guest.place
        state, record = reading.claim_states.get(place), _record_of(reading, place)
        difference = None
        if guest.state == GuestState.UNJOURNALLED:
            difference = "guest without journal", "its agent's journal has no live attempt of it"
        elif state != ClaimState.CONFIRMED and counts[guest.uuid] > 1 and place not in sources:
            difference = "second copy", f"{counts[guest.uuid]} guests; the claim is {_describe(places[guest.uuid])}"
        elif state == ClaimState.UNVERIFIED:
            difference = "unverified claim", f"the store does not know this attempt; {describe_record(record)}"
        elif state != ClaimState.CONFIRMED:
            difference = "guest without claim", f"the claim is {_describe(places[guest.uuid])}"
        elif record is None:
            difference = "guest without record", "its claim is confirmed"
        elif _place_of(record) != place or record.status == InstanceStatus.ERROR:
            difference = "guest and record differ", describe_record(record)
        elif place in unheld:
            difference = "guest exceeds claim", f"it uses {_describe_amounts(unheld[place])}; its claim holds less"
        if difference is not None:
            yield Difference(difference[0], guest.uuid, guest.attempt, place.host, difference[1])


def _record_of(reading: ClusterReading, place: Place) -> Any:
    return reading.expected.get((place.uuid, place.attempt)) or reading.instances.get(place.uuid)


def _claim_differences(reading: ClusterReading) -> Iterator[Difference]:
    running = {guest.place for guest in reading.guests}
    for place, state in reading.claim_states.items():
        if state != ClaimState.PREPARED and place not in running and place.host not in reading.silent:
            record = _record_of(reading, place)
            yield Difference("claim without guest", *place, f"the claim is {state}; {describe_record(record)}")


def _record_differences(reading: ClusterReading) -> Iterator[Difference]:
    for record in reading.expected.values():
        if record.status in WITH_GUEST and reading.claim_states.get(_place_of(record)) != ClaimState.CONFIRMED:
            yield Difference("record without claim", *_place_of(record), f"the record is {record.status}")


def _silent_hosts(reading: ClusterReading) -> Iterator[Difference]:
    records = {_place_of(record) for record in reading.expected.values() if record.status in WITH_GUEST}
    places = records | reading.claim_states.keys()
    counts = Counter(place.host for place in places if place.host in reading.silent)
    for host, count in sorted(counts.items()):
        yield Difference("host not compared", None, None, host, f"its agent does not answer; {count} instances")


def _describe(places: Sequence[Place]) -> str:
    return ", ".join(f"attempt {place.attempt} on {place.host}" for place in sorted(places)) or "none"


def _describe_amounts(allocations: Mapping[str, Mapping[str, int]]) -> str:
    return ", ".join(
        f"{amount} {resource_class} from {provider}"
        for provider, amounts in allocations.items()
        for resource_class, amount in amounts.items()
    )


def describe_record(record: Any) -> str:
    if record is None:
        return "no record"
    return f"the record is {record.status}, attempt {record.attempt} on {record.host or 'no host'}"
