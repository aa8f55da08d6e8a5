# SPDX-License-Identifier: Apache-2.0
"""Statuses of instances, migrations and guests, and results of attempts."""

from enum import StrEnum


class InstanceStatus(StrEnum):
    SCHEDULING = "SCHEDULING"
    BUILDING = "BUILDING"
    ACTIVE = "ACTIVE"
    STOPPING = "STOPPING"
    SHUTOFF = "SHUTOFF"  # powered off; keeps disk, host and claim
    STARTING = "STARTING"
    REBOOT = "REBOOT"
    HARD_REBOOT = "HARD_REBOOT"
    REBUILD = "REBUILD"  # the disk is being replaced
    SHELVING = "SHELVING"
    SHELVED = "SHELVED"  # powered off, disk saved as an image; keeps its host until offloaded
    OFFLOADING = "OFFLOADING"
    SHELVED_OFFLOADED = "SHELVED_OFFLOADED"  # image only: no host, no claim
    UNSHELVING = "UNSHELVING"
    RESIZE = "RESIZE"  # cold migration or resize in progress
    VERIFY_RESIZE = "VERIFY_RESIZE"  # at the destination; the source is kept until confirm or revert
    REVERT_RESIZE = "REVERT_RESIZE"
    MIGRATING = "MIGRATING"  # live migration in progress
    ERROR = "ERROR"
    DELETING = "DELETING"
    DELETED = "DELETED"


# Statuses in which the instance is on its recorded host under a confirmed claim.
ON_HOST = frozenset(
    {
        InstanceStatus.ACTIVE,
        InstanceStatus.STOPPING,
        InstanceStatus.SHUTOFF,
        InstanceStatus.STARTING,
        InstanceStatus.REBOOT,
        InstanceStatus.HARD_REBOOT,
        InstanceStatus.REBUILD,
        InstanceStatus.SHELVING,
        InstanceStatus.SHELVED,
        InstanceStatus.VERIFY_RESIZE,
    }
)


# Statuses without a claim and without quota usage once the saga has ended; repeated in conductor/store/lua/_usage.lua.
WITHOUT_CLAIM = frozenset({InstanceStatus.ERROR, InstanceStatus.SHELVED_OFFLOADED})


class MigrationKind(StrEnum):
    MIGRATION = "migration"  # cold migration with the same flavor
    RESIZE = "resize"
    LIVE = "live-migration"
    EVACUATION = "evacuation"


class MigrationStatus(StrEnum):
    PREPARING = "preparing"  # a destination is being selected
    MIGRATING = "migrating"  # the guest is stopped at the source, then built at the destination
    FINISHED = "finished"  # at the destination; the source is kept until confirm or revert
    CONFIRMING = "confirming"
    CONFIRMED = "confirmed"
    REVERTING = "reverting"  # returning to the source, by request or because no destination could build it
    REVERTED = "reverted"
    ERROR = "error"  # failed; the instance is back on its source or in ERROR
    COMPLETED = "completed"  # a live migration or an evacuation succeeded
    CANCELLED = "cancelled"


# Statuses of migrations that hold no claim.
ENDED_MIGRATIONS = frozenset(
    {
        MigrationStatus.CONFIRMED,
        MigrationStatus.REVERTED,
        MigrationStatus.ERROR,
        MigrationStatus.COMPLETED,
        MigrationStatus.CANCELLED,
    }
)


class AttemptResult(StrEnum):
    """Result of an attempt in reports to the conductor; see rpcapi.objects.BuildReport."""

    ACTIVE = "active"
    STOPPED = "stopped"
    INCOMING = "incoming"
    REFUSED = "refused"
    FAILED = "failed"
    GONE = "gone"


class GuestState(StrEnum):
    """State of a guest on its host; all but UNJOURNALLED have a live attempt in the agent's journal."""

    RUNNING = "running"
    STOPPED = "stopped"
    INCOMING = "incoming"  # paused until a copy from another host fills it
    CONFIRMED = "confirmed"  # the claim is confirmed; the guest is about to be created or started
    UNJOURNALLED = "unjournalled"  # the guest has no live attempt
