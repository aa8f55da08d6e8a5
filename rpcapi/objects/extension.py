# SPDX-License-Identifier: Apache-2.0
"""The filters and weighers of a scheduler worker."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class FilterList(base.GanttObject):
    """Filters and weighers of the worker that answers, in the order in which they run; one element for each.

    ``kinds`` are "filter" or "weigher"; ``forms`` are "columnar" or "per-host", None when not loaded. ``sources`` are
    distributions with their versions. ``reads`` maps namespaces of host state to the keys read. ``calls``, ``errors``,
    ``seconds`` and ``hosts`` are sums over the measured calls since the worker's start: all calls of plugins, and a
    sample of the calls of gantt's own filters and weighers. ``hosts`` counts the hosts evaluated.

    Version 1.0: Initial version
    """

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
