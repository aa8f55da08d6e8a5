# SPDX-License-Identifier: Apache-2.0
"""Host state: versioned documents about hosts, by namespace."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class HostState(base.GanttObject):
    """Document of a host; an update names the version that it read. Version 0: the document does not exist yet.

    ``partition`` is the partition of the document; None means the partition of the host with this name.

    Namespace ``compute``, one document per node: inventories with capacity, used, traits, availability_zone, metrics.

    Namespace ``service``, one document per service host: binary, enabled, disabled_reason, alive, last_report_ms,
    audited, and

    - clock_offset_ms: How far its clock is ahead of the store's; None below 5 s.
    - rpc_versions: Versions by topic of the oldest process of that name; missing or None if it reports none.
    - older_seen_ms: Last report of that oldest process while a newer one reports too.
    - too_old: Set for agents with an unsupported RPC version.

    The declared writers of other namespaces define their content.

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
    """Page of documents, by name; ``marker`` is None on the last page.

    Version 1.0: Initial version
    """

    fields = {
        "states": fields.ListOfObjectsField("HostState"),
        "marker": fields.StringField(nullable=True, default=None),
    }
