# SPDX-License-Identifier: Apache-2.0
"""Records of migrations: each move of an instance, of any kind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class MigrationKind(StrEnum):
    """What a migration is for, as Nova's ``migration_type``."""

    MIGRATION = "migration"  # cold: the same flavor on another host
    RESIZE = "resize"
    LIVE = "live-migration"
    EVACUATION = "evacuation"


class MigrationStatus(StrEnum):
    """The status of a migration, in Nova's words."""

    PREPARING = "preparing"  # a destination is selected
    MIGRATING = "migrating"  # the guest is stopped at its source, then built at its destination
    FINISHED = "finished"  # it is at its destination; the source is kept until confirm or revert
    CONFIRMING = "confirming"
    CONFIRMED = "confirmed"
    REVERTING = "reverting"  # by request, or because no destination could build it
    REVERTED = "reverted"
    ERROR = "error"  # it failed; the instance is back on its source, or in ERROR itself
    COMPLETED = "completed"  # a live migration or an evacuation ended as requested
    CANCELLED = "cancelled"


# A migration in one of these holds no claim.
ENDED = frozenset(
    {
        MigrationStatus.CONFIRMED,
        MigrationStatus.REVERTED,
        MigrationStatus.ERROR,
        MigrationStatus.COMPLETED,
        MigrationStatus.CANCELLED,
    }
)


@dataclass(frozen=True, slots=True)
class MigrationRecord:
    """One move of an instance. It is written with the record of its instance, by one script.

    Until the migration has ended, it holds the resources at the source. ``source_host`` is the resource name there,
    ``source_attempt`` the attempt of the instance; ``target`` is the only host that was requested (None: any),
    ``allow_cross_cell`` whether the destination may be in another partition.
    ``destination_host`` and ``destination_attempt`` are the current or last ones; ``history`` has {attempt, host,
    outcome, reason} of each ended attempt to build it at a destination. ``spec`` is the primitive of the RequestSpec of
    the destination, None for that of the instance. ``was_stopped``: the guest was powered off before. ``group`` has the
    uuids of the migrations, its own included, by which one call moves an affinity group; empty: it moves alone.

    Of a live migration: ``with_disk``, whether its disk is copied, None before that was checked; ``copy_request``,
    ABORT or FORCE of rpcapi.objects.copy; ``copy_phase``, the reported one after the guest was stopped at its source;
    ``is_resumed``, whether the destination has reported that it runs. The store sets
    ``sequence`` and the two timestamps.
    """

    uuid: str
    instance: str
    kind: MigrationKind
    status: MigrationStatus = MigrationStatus.PREPARING
    source_host: str = ""
    source_partition: str | None = None
    source_attempt: int = 1
    source_allocations: Mapping[str, Mapping[str, int]] | None = None
    target: str | None = None
    destination_host: str | None = None
    destination_attempt: int | None = None
    history: Sequence[Mapping[str, Any]] = ()
    spec: Mapping[str, Any] | None = None
    old_flavor: str | None = None
    new_flavor: str | None = None
    was_stopped: bool = False
    allow_cross_cell: bool = False
    with_disk: bool | None = None
    copy_request: str = ""
    copy_phase: str = ""
    is_resumed: bool = False
    group: Sequence[str] = ()
    request_id: str = ""
    reason: str | None = None
    sequence: int = 0
    created_ms: int = 0
    updated_ms: int = 0

    @property
    def has_ended(self) -> bool:
        """Return whether it holds nothing any more."""
        return self.status in ENDED
