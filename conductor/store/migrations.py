# SPDX-License-Identifier: Apache-2.0
"""Records of migrations of all kinds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rpcapi.resources.statuses import ENDED_MIGRATIONS, MigrationKind, MigrationStatus


@dataclass(frozen=True, slots=True)
class MigrationRecord:
    """Record of one move, written with its instance's record by one script.

    Until its end, the migration holds the resources at the source. The store sets ``sequence`` and both timestamps.

    Attributes:
        source_host: Resource name at the source.
        source_attempt: Attempt of the instance at the source.
        target: Only requested host; None for any.
        destination_host, destination_attempt: Current or last destination.
        history: One {attempt, host, outcome, reason} per ended attempt at a destination.
        spec: RequestSpec primitive at the destination; None means the instance's spec.
        was_stopped: Whether the guest was powered off before the move.
        allow_cross_cell: Whether the destination may be in a different partition.
        group: Migrations of all members of an affinity group that one call moves; empty if the instance moves alone.
        with_disk: Whether a live migration copies the disk; None before the check.
        copy_request: ABORT or FORCE of rpcapi.objects.copy.
        copy_phase: Phase reported after the guest stopped at the source of a live migration.
        is_resumed: Whether the destination of a live migration reported that the guest runs.
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
        return self.status in ENDED_MIGRATIONS
