# SPDX-License-Identifier: Apache-2.0
"""Comparison of claims with Nova's instances."""

from rpcapi.objects import base


class NovaAudit(base.GanttObject):
    """Nova's claims without an instance, in a page of all claims.

    Keys of a leak: consumer, host, request_id, created_ms (by the store's clock), allocations, ended (by this call).
    """

    fields = {"leaks": base.ListField(dict, default=[]), **base.MARKER}
