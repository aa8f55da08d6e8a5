# SPDX-License-Identifier: Apache-2.0
"""Copies of running guests between hosts: checks, incoming guests, control and progress."""

from oslo_versionedobjects import fields

from rpcapi.objects import base
from rpcapi.resources.inventory import MAX_AMOUNT

START = "start"  # begin to copy the running guest; it is stopped at its source when the copy is complete
ABORT = "abort"  # give the copy up; the guest runs on at its source
FORCE = "force"  # complete the copy: by post-copy where it was started with that, else the guest is paused until then
ACTIONS = (START, ABORT, FORCE)

# Phases of a copy.
RUNNING = "running"
FAILED = "failed"  # also: aborted. In a pre-copy the guest runs on at its source; after post-copy began, it is lost
POST_COPY = "post-copy"  # the guest is stopped at its source; memory is still to be copied
DONE = "done"  # the guest is stopped at its source, and completely copied
PHASES = (RUNNING, FAILED, POST_COPY, DONE)


@base.GanttObjectRegistry.register
class MigrationChecks(base.GanttObject):
    """Request and answer of check_migrations, a row for each instance.

    Request: ``facts`` has those of the source's node, as the source answered them; an empty column asks the source.
    ``names`` has the node at the destination, and is empty for the source. Answer: ``facts`` has {architecture,
    hypervisor_type, hypervisor_version, storage} of the instance's node on the called host; ``storage`` is the name of
    the shared storage of its disks, "" where they are local. ``reasons`` says why the instance cannot be migrated live,
    or is "".

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
    """Request of copy_guests, to their source: start, abort or complete copies of running guests.

    ``uuids`` are the instances, with their ``attempts`` at the source. ``numbers`` grow with each copy of an instance:
    an agent starts a copy only if its number is greater than the number of the last copy. ``destinations`` has the node
    that receives the guest, ``with_disk`` whether its disk is copied too, ``post_copy`` whether FORCE lets the guest
    continue at its destination before all memory is copied; ABORT and FORCE do not read these.

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
    """Progress of the copies of requested migrations at their source; migrations without a copy are left out.

    ``phases`` is as the constants above, ``reasons`` why a copy failed. Amounts are in MiB: ``total_mb`` of memory and
    disk, ``remaining_mb`` of them still to be copied, and ``copied_mb`` in all, with memory that was copied again
    because the guest wrote to it.

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
