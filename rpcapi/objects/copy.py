# SPDX-License-Identifier: Apache-2.0
"""Copies of running guests between hosts: checks, control and progress."""

from oslo_versionedobjects import fields

from rpcapi.objects import base
from rpcapi.resources.inventory import MAX_AMOUNT

START = "start"  # copy the running guest; it stops at its source when the copy is complete
ABORT = "abort"  # give up the copy; the guest keeps running at its source
FORCE = "force"  # complete the copy by post-copy if it was started with it, otherwise by pausing the guest
ACTIONS = (START, ABORT, FORCE)

# Phases of a copy.
RUNNING = "running"
FAILED = "failed"  # or aborted. In pre-copy the guest keeps running at its source; in post-copy it is lost
POST_COPY = "post-copy"  # stopped at its source, memory still being copied
DONE = "done"  # stopped at its source and completely copied
PHASES = (RUNNING, FAILED, POST_COPY, DONE)


@base.GanttObjectRegistry.register
class MigrationChecks(base.GanttObject):
    """Request and answer of check_migrations, one row per instance.

    In a request:

    - ``facts``: Facts of the source's node, from the source's answer. Empty in the request to the source.
    - ``names``: Node at the destination. Empty in the request to the source.

    In an answer:

    - ``facts``: {architecture, hypervisor_type, hypervisor_version, storage} of the instance's node on the called host.
      ``storage`` names the shared storage of its disks, "" for local disks.
    - ``reasons``: Why the instance cannot be live-migrated, or "".

    Version 1.0: Initial version
    """

    fields = {
        "instances": base.ColumnField(str),
        "names": base.ColumnField(str, default=[]),
        "facts": base.ColumnField(dict, default=[]),
        "reasons": base.ColumnField(str, default=[]),
    }


@base.GanttObjectRegistry.register
class GuestCopies(base.GanttObject):
    """Request of copy_guests to the source: start, abort or complete copies of running guests.

    - ``attempts``: Attempt of each instance at the source.
    - ``numbers``: Increase with each copy of an instance; an agent starts a copy only if its number exceeds the last
      one.
    - ``destinations``: Node that receives the guest. This and the next two are only read by START.
    - ``with_disk``: Whether the disk is copied too.
    - ``post_copy``: Whether FORCE lets the guest continue at its destination before all memory is copied.

    Version 1.0: Initial version
    """

    fields = {
        "partition": fields.StringField(),
        "uuids": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "migrations": base.ColumnField(str),
        "numbers": base.ColumnField(int),
        "actions": base.ColumnField(str),
        "destinations": base.ColumnField(str),
        "with_disk": base.ColumnField(bool),
        "post_copy": base.ColumnField(bool),
    }

    def check(self) -> None:
        """Raise InvalidRequest for an unknown action or a number out of range."""
        base.check_actions(self.actions, ACTIONS, self.numbers, MAX_AMOUNT)


@base.GanttObjectRegistry.register
class CopyPage(base.GanttObject):
    """Progress of copies at their source; migrations without a copy are omitted.

    ``phases`` are the constants of this module, ``reasons`` say why a copy failed. Amounts are in MiB: ``total_mb`` of
    memory and disk, ``remaining_mb`` of it still to copy, and ``copied_mb`` so far, including rewritten memory.

    Version 1.0: Initial version
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
