# SPDX-License-Identifier: Apache-2.0
"""Changes of host state in one partition."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class ChangePage(base.GanttObject):
    """The changes after a position of a partition's log, oldest first, up to ``position`` in ``epoch``.

    Each element of ``changes`` is a mapping with the epoch, position, kind and payload of a notification of host state.
    ``at_end`` is False if the log may have more.

    Version 1.0: Initial version
    """

    fields = {
        "changes": base.ListField(dict),
        "epoch": fields.IntegerField(),
        "position": fields.IntegerField(),
        "at_end": fields.BooleanField(),
    }
