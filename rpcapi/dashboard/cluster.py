# SPDX-License-Identifier: Apache-2.0
"""State of the deployment, read over RPC and shared by all requests for an interval."""

import itertools
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rpcapi import objects
from rpcapi.admin import groups
from rpcapi.admin.migrations import CopyProgress, read_progress
from rpcapi.admin.session import NO_ANSWER, Session
from rpcapi.dashboard import decision_log, host_list
from rpcapi.dashboard.cached import Cached
from rpcapi.resources import names
from rpcapi.resources.claims import ClaimState
from rpcapi.resources.statuses import ENDED_MIGRATIONS

USER = "gantt-dashboard"  # user of shared reads
MOST_CLAIMS = 20_000  # claims of Placement API clients to search for a host's
MOST_IN_FLIGHT = 1000  # shown claims in flight per partition
MOST_MIGRATIONS = 500  # shown ended migrations; running ones are all shown


class ClaimsInFlight(NamedTuple):
    """Claims that their hosts have not confirmed; incomplete if truncated or if a store does not answer."""

    claims: Sequence[Mapping[str, Any]]
    is_complete: bool


class CachedCluster:
    """Reader of the deployment; each part is read at most once per ``refresh_interval`` seconds."""

    def __init__(self, session: Session, refresh_interval: float) -> None:
        self._session = session
        self.partitions: Cached[objects.PartitionList] = Cached(self._read_partitions, refresh_interval)
        self.hosts: Cached[host_list.HostList] = Cached(
            lambda: host_list.read(self._reader(), self.partitions.get(), self.hosts.latest), refresh_interval
        )
        self.decisions: Cached[Mapping[str, decision_log.DecisionLog]] = Cached(
            lambda: decision_log.read(self._reader(), self.partitions.get(), self.decisions.latest), refresh_interval
        )
        self.claims_in_flight = Cached(self._read_claims, refresh_interval)
        self.groups = Cached(lambda: groups.read_groups(self._reader()), refresh_interval)
        self._migrations = Cached(self._read_migrations, refresh_interval)
        self._progress = Cached(lambda: read_progress(self._reader(), self.migrations() or ()), refresh_interval)
        self.choices = Cached(self._read_choices, refresh_interval)
        self.refresh_interval = refresh_interval

    def migrations(self) -> Sequence[Any] | None:
        """Return migrations, running ones first, then the newest; None without an answer."""
        try:
            return self._migrations.get()
        except NO_ANSWER:
            return None

    def progress(self) -> Mapping[str, CopyProgress]:
        try:
            return self._progress.get()
        except NO_ANSWER:
            return {}

    def claims_on(self, host: host_list.Host) -> list[Mapping[str, Any]]:
        session = self._reader()
        claims = [] if names.is_api_provider(host.id) else list(session.list_claims(host.partition, host=host.id))
        of_clients = session.list_claims(host.partition, host=names.API_HOST)
        return claims + [
            claim
            for claim in itertools.islice(of_clients, MOST_CLAIMS)
            if any(names.matches(provider, host.id) for provider in claim["allocations"])
        ]

    def expire_hosts(self) -> None:
        self.partitions.expire()
        self.hosts.expire()

    def _read_partitions(self) -> objects.PartitionList:
        session = self._reader()
        reply: objects.PartitionList = session.call(session.scheduler.list_partitions)
        return reply

    def _read_choices(self) -> Session:
        session = self._reader()
        _ = session.flavors, session.images, session.catalog
        return session

    def _read_claims(self) -> ClaimsInFlight:
        session, partitions = self._reader(), self.partitions.get()
        prepared: list[Mapping[str, Any]] = []
        is_complete = True
        for name, counts in zip(partitions.names, partitions.claims, strict=True):
            if counts is None:
                is_complete = False  # The partition's store does not answer.
            elif counts.get(ClaimState.PREPARED):
                claims = session.call(session.claims_of(name).list_prepared_claims, MOST_IN_FLIGHT).claims
                prepared += [{**claim, "partition": name} for claim in claims]
                is_complete = is_complete and len(claims) < MOST_IN_FLIGHT
        return ClaimsInFlight(sorted(prepared, key=lambda claim: claim.get("created_ms") or 0), is_complete)

    def _read_migrations(self) -> Sequence[Any]:
        session = self._reader()
        migrations = list(session.list_migrations())[::-1]
        under_way = [move for move in migrations if move.status not in ENDED_MIGRATIONS]
        ended = [move for move in migrations if move.status in ENDED_MIGRATIONS]
        return [*under_way, *ended[:MOST_MIGRATIONS]]

    def _reader(self) -> Session:
        """Return a session with one attempt per call: pages must not wait for a service."""
        return self._session.for_request(USER, attempts=1)


def now_ms() -> int:
    return int(time.time() * 1000)
