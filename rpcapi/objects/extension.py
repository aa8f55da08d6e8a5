# SPDX-License-Identifier: Apache-2.0
"""What decides: the filters and weighers that a scheduler worker has."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class FilterList(base.GanttObject):
    """The filters and weighers of the worker that answers, in the order in which they run; a column each.

    ``kinds`` are "filter" or "weigher", ``forms`` "columnar" or "per-host", None where it is not loaded. ``sources``
    are distributions with their versions. ``reads`` maps namespaces of host state to the keys that are read of them.
    ``calls``, ``errors``, ``seconds`` and ``hosts`` are sums over what was measured since the worker's start: each look
    of what is not gantt's own, and of the others one in a number of decisions. ``hosts`` are those that were looked at.

    Version 1.0: Initial version
    """

    VERSION = "1.0"
    COLUMNS = (
        *("names", "kinds", "forms", "sources", "enabled", "reads"),
        *("calls", "errors", "seconds", "hosts", "last_errors"),
    )

    fields = {
        "worker": fields.StringField(),
        "names": base.ColumnField(str),
        "kinds": base.ColumnField(str),
        "forms": base.ColumnField(str, nullable_items=True),
        "sources": base.ColumnField(str),
        "enabled": base.ColumnField(bool),
        "reads": base.ColumnField(dict),
        "calls": base.ColumnField(int),
        "errors": base.ColumnField(int),
        "seconds": base.ColumnField(float),
        "hosts": base.ColumnField(int),
        "last_errors": base.ColumnField(str, nullable_items=True),
    }
