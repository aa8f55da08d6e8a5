# SPDX-License-Identifier: Apache-2.0
"""Host state: one JSON-like document about a host in a namespace."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class HostState(base.GanttObject):
    """A document and its version, which an update must give.

    Namespace ``compute`` (one per node): inventories with capacity, used, traits, availability_zone, metrics.
    Namespace ``service`` (one per service host): binary, enabled, disabled_reason, alive, last_report_ms, audited,
    clock_offset_ms (by which its clock is ahead of the store's; None: by less than 5 s), rpc_versions (by topic, those
    of the oldest process of that name; missing or None: it reports none), older_seen_ms (when that one reported last,
    while a newer one does), too_old (only for agents with an unsupported RPC version).
    The content of other namespaces is up to their declared writers. Version 0 means that the document does not exist
    yet. ``partition`` is the partition of the document; None: that of the host with this name.

    Version 1.0: Initial version
    """

    fields = {
        "namespace": fields.StringField(),
        "name": fields.StringField(),
        "version": fields.IntegerField(),
        "document": base.JsonField(),
        "partition": fields.StringField(nullable=True, default=None),
    }


@base.GanttObjectRegistry.register
class HostStatePage(base.GanttObject):
    """One page of documents, ordered by name; ``marker`` is None on the last page.

    Version 1.0: Initial version
    """

    fields = {
        "states": fields.ListOfObjectsField("HostState"),
        "marker": fields.StringField(nullable=True, default=None),
    }
