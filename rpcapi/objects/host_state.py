# SPDX-License-Identifier: Apache-2.0
"""Host state: versioned documents about hosts, by namespace."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


class HostState(base.GanttObject):
    """Document of a host. An update names the version that it read, 0 for a new document.

    ``partition`` None means the partition of the host.

    - Namespace ``compute``, per node: inventories with capacity, used, traits, availability_zone, metrics.
    - Namespace ``service``, per service host: binary, enabled, disabled_reason, alive, last_report_ms, audited,
      clock_offset_ms (the host's clock minus the store's; None below 5 s), rpc_versions (by topic, of the oldest
      process of that name, or None), older_seen_ms (last report of that process while a newer one reports too), and
      too_old (the RPC version is not supported).
    - The declared writers of other namespaces define their content.
    """

    fields = {
        "namespace": fields.StringField(),
        "name": fields.StringField(),
        "version": fields.IntegerField(),
        "document": base.JsonField(),
        "partition": fields.StringField(nullable=True, default=None),
    }


class HostStatePage(base.GanttObject):
    fields = {"states": fields.ListOfObjectsField("HostState"), **base.MARKER}


class ChangePage(base.GanttObject):
    """Host state notifications after a requested position, oldest first; the log may have more unless ``at_end``."""

    fields = {
        "changes": base.ListField(dict),
        "epoch": fields.IntegerField(),
        "position": fields.IntegerField(),
        "at_end": fields.BooleanField(),
    }
