# SPDX-License-Identifier: Apache-2.0
"""Copies of running guests between hosts."""

from rpcapi.objects import base
from rpcapi.resources.inventory import MAX_AMOUNT

START = "start"  # the guest runs at its source until the copy is complete
ABORT = "abort"  # the guest keeps running at its source
FORCE = "force"  # complete the copy by post-copy if allowed at its start, otherwise by pausing the guest
ACTIONS = (START, ABORT, FORCE)

RUNNING = "running"
FAILED = "failed"  # Failed or aborted. The guest runs at its source, but is lost once post-copy began.
POST_COPY = "post-copy"  # the guest runs at its destination while its memory is still copied
DONE = "done"
PHASES = (RUNNING, FAILED, POST_COPY, DONE)


class MigrationChecks(base.GanttObject):
    """Request and answer of check_migrations, which is sent to the source, then to the destination.

    ``facts`` are {architecture, hypervisor_type, hypervisor_version, storage} of the instance's node on the called
    host; in the request to the destination they are the source's, and ``names`` has the nodes. ``storage`` names the
    shared storage of disks, "" for local ones. ``reasons`` say why instances cannot be live-migrated.
    """

    fields = {
        "instances": base.ColumnField(str),
        "names": base.ColumnField(str, default=[]),
        "facts": base.ColumnField(dict, default=[]),
        "reasons": base.ColumnField(str, default=[]),
    }


class GuestCopies(base.GanttObject):
    """Request of copy_guests to the source.

    ``numbers`` increase with each copy of an instance; an agent starts a copy only if its number exceeds the last. Only
    START reads ``destinations`` (nodes), ``with_disk``, and ``post_copy``: whether FORCE may start the guest at its
    destination before all memory is copied.
    """

    fields = {
        **base.ACTIONS_ON_GUESTS,
        "migrations": base.ColumnField(str),
        "destinations": base.ColumnField(str),
        "with_disk": base.ColumnField(bool),
        "post_copy": base.ColumnField(bool),
    }

    def check(self) -> None:
        """Raise InvalidRequest for an unknown action or a number out of range."""
        base.check_actions(self.actions, ACTIONS, self.numbers, MAX_AMOUNT)


class CopyPage(base.GanttObject):
    """Progress of copies at their source; migrations without a copy are omitted.

    Amounts are in MiB: ``total_mb`` of memory and disk, ``remaining_mb`` still to copy, ``copied_mb`` with rewritten
    memory.
    """

    fields = {
        "migrations": base.ColumnField(str),
        "numbers": base.ColumnField(int),
        "phases": base.ColumnField(str),
        "reasons": base.ColumnField(str),
        "total_mb": base.ColumnField(int),
        "remaining_mb": base.ColumnField(int),
        "copied_mb": base.ColumnField(int),
    }
