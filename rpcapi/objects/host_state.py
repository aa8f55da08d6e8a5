# SPDX-License-Identifier: Apache-2.0
"""Host state: one JSON-like document about a host in a namespace."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class HostState(base.GanttObject):
    """A document and the version that an update must name.

    Namespace ``compute`` (one a node): inventories with capacity, used, traits, availability_zone, metrics.
    Namespace ``service`` (one a service host): binary, enabled, disabled_reason, alive, last_report_ms, audited.

    Version 1.0: Initial version
    """

    VERSION = "1.0"

    fields = {
        "namespace": fields.StringField(),
        "name": fields.StringField(),
        "version": fields.IntegerField(),
        "document": base.JsonField(),
    }


@base.GanttObjectRegistry.register
class HostStatePage(base.GanttObject):
    """One page of documents, by name; ``marker`` is None on the last page.

    Version 1.0: Initial version
    """

    VERSION = "1.0"

    fields = {
        "states": fields.ListOfObjectsField("HostState"),
        "marker": fields.StringField(nullable=True, default=None),
    }
