# SPDX-License-Identifier: Apache-2.0
"""Comparison of what agents run, what the conductor records and what the store holds, as of one reading."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from rpcapi.resources import names

UNJOURNALLED = "unjournalled"
# The statuses of a server that is on its host.
ON_HOST = frozenset(
    {
        *("ACTIVE", "STOPPING", "SHUTOFF", "STARTING", "REBOOT", "HARD_REBOOT", "REBUILD", "SHELVING", "SHELVED"),
        *("VERIFY_RESIZE", "SOURCE"),
    }
)
# The types of consumers that are guests: a migration holds the guest at its source until it has ended.
INSTANCE, MIGRATION = "INSTANCE", "MIGRATION"
ENDED_MIGRATIONS = frozenset({"confirmed", "reverted", "error", "completed", "cancelled"})
EVACUATION = "evacuation"  # a kind of migrations that hold nothing
SOURCE_ATTEMPT = 1  # of a migration's claim


class Difference(NamedTuple):
    """One difference about an instance or a host; what identifies it stands before ``detail``."""

    kind: str
    instance: str | None
    attempt: int | None
    host: str
    detail: str


class AgentGuest(NamedTuple):
    """Guest of an agent; ``state`` and ``instance`` are as in rpcapi.objects.GuestPage."""

    uuid: str
    attempt: int
    node: str
    state: str
    instance: str = ""

    @property
    def place(self) -> "Place":
        """The attempt on its service host."""
        return Place(self.uuid, self.attempt, names.host_of(self.node))


class Place(NamedTuple):
    """An attempt of an instance on a service host."""

    uuid: str
    attempt: int
    host: str


class RecordedEnd(NamedTuple):
    """What the records say of one end of a move that is under way, in the form of a server's record.

    The status of a source is SOURCE while the claim there is the migration's for sure, else that of the migration.
    """

    uuid: str
    attempt: int
    host: str
    status: str


@dataclass(frozen=True, slots=True)
class ClusterReading:
    """One reading of the three sides.

    ``claims`` are as in a ClaimPage, ``instances`` the records by uuid, without deleted ones, ``migrations`` those of
    migrations. ``silent`` are the service hosts whose agents did not answer.
    """

    claims: Sequence[Mapping[str, Any]]
    instances: Mapping[str, Any]
    guests: Sequence[AgentGuest]
    silent: Collection[str]
    migrations: Mapping[str, Any] = field(default_factory=dict)

    @property
    def records(self) -> dict[str, Any]:
        """The records of what may run, by consumer: servers, and the sources of open migrations.

        Of a server that moves that is its attempt at the destination, where its record still names the source.
        """
        ends: dict[str, Any] = {}
        for uuid, migration in self.migrations.items():
            if migration.status in ENDED_MIGRATIONS or migration.kind == EVACUATION:
                continue
            status = "SOURCE" if migration.status == "finished" else migration.status
            ends[uuid] = RecordedEnd(uuid, SOURCE_ATTEMPT, migration.source_host, status)
            server = self.instances.get(migration.instance)
            if server is not None and server.attempt == migration.destination_attempt:
                ends[server.uuid] = RecordedEnd(server.uuid, server.attempt, migration.destination_host, server.status)
        return {**self.instances, **ends}

    def guests_without_claim(self, host: str) -> list[AgentGuest]:
        """Return the guests of a service host whose attempts have no live claim there."""
        claims = _claims_by_place(self)
        return [guest for guest in self.guests if guest.place.host == host and guest.place not in claims]

    def confirmed_host(self, instance: str) -> str | None:
        """Return the host on which record, confirmed claim and guest of an instance agree, or None."""
        record = self.records.get(instance)
        if record is None or record.status not in ON_HOST:
            return None
        place = _place_of(record)
        has_guest = any(guest.place == place and guest.state != UNJOURNALLED for guest in self.guests)
        return place.host if has_guest and _claims_by_place(self).get(place) == "confirmed" else None


def compare(reading: ClusterReading) -> list[Difference]:
    """Return all differences: about guests first, then about claims and records without guests, then silent hosts."""
    reading = replace(reading, instances=reading.records)
    claims = _claims_by_place(reading)
    of_migrations = list(_leaked_migrations(reading))
    leaked = {difference.instance for difference in of_migrations}
    unheld = _unheld_by_place(reading)
    guest_differences = _guest_differences(reading, claims, unheld)
    of_guests = [*of_migrations, *(item for item in guest_differences if item.instance not in leaked)]
    instances = {difference.instance for difference in of_guests}
    without_guests = [
        difference
        for difference in (*_claim_differences(reading, claims), *_record_differences(reading, claims))
        if difference.instance not in instances
    ]
    return [*of_guests, *without_guests, *_silent_hosts(reading, claims)]


def _claims_by_place(reading: ClusterReading) -> dict[Place, str]:
    """Return the states of the claims of guests: of instances and of gantt's own migrations, not of Nova's."""
    places = [
        (Place(claim["consumer"], claim["attempt"], names.host_of(claim["host"])), claim) for claim in reading.claims
    ]
    return {
        place: claim["state"]
        for place, claim in places
        if claim["type"] == INSTANCE or (claim["type"] == MIGRATION and place.host != names.API_HOST)
    }


def _unheld_by_place(reading: ClusterReading) -> dict[Place, Mapping[str, Mapping[str, int]]]:
    """Return what guests use beyond their claims, as their agents reported to the store."""
    return {
        Place(claim["consumer"], claim["attempt"], names.host_of(claim["host"])): claim["unheld"]
        for claim in reading.claims
        if claim.get("unheld")
    }


def _leaked_migrations(reading: ClusterReading) -> Iterator[Difference]:
    """Yield the claims of migrations that have ended or have no record: these should hold nothing.

    Those of Nova's migrations are at providers that the Placement API made.
    """
    for claim in reading.claims:
        record = reading.migrations.get(claim["consumer"])
        place = Place(claim["consumer"], claim["attempt"], names.host_of(claim["host"]))
        is_open = record is not None and record.status not in ENDED_MIGRATIONS
        is_held = claim["type"] == MIGRATION and claim["state"] == "confirmed" and place.host != names.API_HOST
        if is_held and not is_open and place.host not in reading.silent:
            yield Difference("leaked migration", *place, _describe_migration(record))


def _place_of(record: Any) -> Place:
    return Place(record.uuid, record.attempt, names.host_of(record.host or ""))


def _guest_differences(
    reading: ClusterReading, claims: Mapping[Place, str], unheld: Mapping[Place, Mapping[str, Mapping[str, int]]]
) -> Iterator[Difference]:
    counts = Counter(guest.uuid for guest in reading.guests)
    places = defaultdict(list)
    for place in claims:
        places[place.uuid].append(place)
    for guest in reading.guests:
        place = guest.place
        state, record = claims.get(place), reading.instances.get(guest.uuid)
        difference = None
        if guest.state == UNJOURNALLED:
            difference = "guest without journal", "its agent's journal has no live attempt of it"
        elif state != "confirmed" and counts[guest.uuid] > 1:
            difference = "second copy", f"{counts[guest.uuid]} guests; the claim is {_describe(places[guest.uuid])}"
        elif state == "unverified":
            difference = "unverified claim", f"the store does not know this attempt; {_describe_record(record)}"
        elif state != "confirmed":
            difference = "guest without claim", f"the claim is {_describe(places[guest.uuid])}"
        elif record is None:
            difference = "guest without record", "its claim is confirmed"
        elif _place_of(record) != place or record.status == "ERROR":
            difference = "guest and record differ", _describe_record(record)
        elif place in unheld:
            difference = "guest exceeds claim", f"it uses {_describe_amounts(unheld[place])}; its claim holds less"
        if difference is not None:
            yield Difference(difference[0], guest.uuid, guest.attempt, place.host, difference[1])


def _claim_differences(reading: ClusterReading, claims: Mapping[Place, str]) -> Iterator[Difference]:
    running = {guest.place for guest in reading.guests}
    for place, state in claims.items():
        if state != "prepared" and place not in running and place.host not in reading.silent:
            record = reading.instances.get(place.uuid)
            yield Difference("claim without guest", *place, f"the claim is {state}; {_describe_record(record)}")


def _record_differences(reading: ClusterReading, claims: Mapping[Place, str]) -> Iterator[Difference]:
    for record in reading.instances.values():
        if record.status in ON_HOST and claims.get(_place_of(record)) != "confirmed":
            yield Difference("record without claim", *_place_of(record), f"the record is {record.status}")


def _silent_hosts(reading: ClusterReading, claims: Mapping[Place, str]) -> Iterator[Difference]:
    places = set(claims) | {_place_of(record) for record in reading.instances.values() if record.status in ON_HOST}
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


def _describe_migration(record: Any) -> str:
    if record is None:
        return "no record of this migration"
    return f"the migration of {record.instance} is {record.status}"


def _describe_record(record: Any) -> str:
    if record is None:
        return "no record"
    return f"the record is {record.status}, attempt {record.attempt} on {record.host or 'no host'}"
