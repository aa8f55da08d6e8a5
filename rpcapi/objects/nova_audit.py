# SPDX-License-Identifier: Apache-2.0
"""The comparison of claims with Nova's instances, as returned by audit_nova."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class NovaAudit(base.GanttObject):
    """Claims that were made for Nova and that no instance uses, in one page of claims.

    Each of ``leaks`` is {"consumer", "host", "request_id", "created_ms", "allocations", "ended"}, where ``created_ms``
    is by the store's clock and ``ended`` whether this call ended it. ``marker`` is None on the last page.

    Version 1.0: Initial version
    """

    fields = {
        "leaks": base.ListField(dict, default=[]),
        "marker": fields.StringField(nullable=True, default=None),
    }
