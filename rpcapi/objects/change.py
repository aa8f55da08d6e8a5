# SPDX-License-Identifier: Apache-2.0
"""Host state changes of a partition."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class ChangePage(base.GanttObject):
    """Host state notifications after a requested position, oldest first; the log may have more unless ``at_end``.

    Version 1.0: Initial version
    """

    fields = {
        "changes": base.ListField(dict),
        "epoch": fields.IntegerField(),
        "position": fields.IntegerField(),
        "at_end": fields.BooleanField(),
    }
