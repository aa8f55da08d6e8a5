# SPDX-License-Identifier: Apache-2.0
"""Filters and weighers of a scheduler worker."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class FilterList(base.GanttObject):
    """Filters and weighers of the answering worker, in the order in which they run, one row each.

    - ``kinds``: "filter" or "weigher".
    - ``forms``: "columnar" or "per-host"; None if not loaded.
    - ``sources``: Distributions with their versions.
    - ``reads``: Namespaces of host state, with the keys read.
    - ``calls``, ``errors``, ``seconds``, ``hosts``: Totals since the worker's start over measured calls: all calls of
      plugins, a sample of the calls of built-in ones. ``hosts`` counts evaluated hosts.

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
