# SPDX-License-Identifier: Apache-2.0
"""Filters and weighers of a scheduler worker."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


class FilterList(base.GanttObject):
    """Filters and weighers of the answering worker, in the order in which they run.

    ``forms`` are "columnar" or "per-host", None if not loaded; ``sources`` are distributions with their versions;
    ``reads`` has the keys of host state by namespace. ``calls``, ``errors``, ``seconds`` and ``hosts`` (evaluated) are
    totals of measured calls: all of plugins, a sample of built-in ones.
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
