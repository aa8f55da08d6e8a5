# SPDX-License-Identifier: Apache-2.0
"""Comparison of claims with Nova's instances, returned by audit_nova."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class NovaAudit(base.GanttObject):
    """Claims for Nova without an instance, in one page of all claims; ``marker`` is None on the last page.

    Each of ``leaks`` is {"consumer", "host", "request_id", "created_ms", "allocations", "ended"}: ``created_ms`` is by
    the store's clock, ``ended`` says whether this call ended the claim.

    Version 1.0: Initial version
    """

    fields = {
        "leaks": base.ListField(dict, default=[]),
        "marker": fields.StringField(nullable=True, default=None),
    }
