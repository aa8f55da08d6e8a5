# SPDX-License-Identifier: Apache-2.0
"""Host state changes of one partition."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class ChangePage(base.GanttObject):
    """Log changes after a requested position, oldest first, up to ``position`` in ``epoch``.

    Each element of ``changes`` has the epoch, position, kind and payload of a host state notification. ``at_end`` is
    false if the log may have more.

    Version 1.0: Initial version
    """

    fields = {
        "changes": base.ListField(dict),
        "epoch": fields.IntegerField(),
        "position": fields.IntegerField(),
        "at_end": fields.BooleanField(),
    }
