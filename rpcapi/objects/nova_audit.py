# SPDX-License-Identifier: Apache-2.0
"""Comparison of claims with Nova's instances."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class NovaAudit(base.GanttObject):
    """Nova's claims without an instance, in a page of all claims; ``marker`` is None on the last page.

    Keys of a leak: consumer, host, request_id, created_ms (by the store's clock), allocations, ended (by this call).

    Version 1.0: Initial version
    """

    fields = {
        "leaks": base.ListField(dict, default=[]),
        "marker": fields.StringField(nullable=True, default=None),
    }
