# SPDX-License-Identifier: Apache-2.0
"""Host state: one JSON-like document about a host in a namespace."""

from typing import Any

from oslo_versionedobjects import fields

from rpcapi.objects import base, versions


@base.GanttObjectRegistry.register
class HostState(base.GanttObject):
    """A document and the version that an update must name.

    Namespace ``compute`` (one a node): inventories with capacity, used, traits, availability_zone, metrics.
    Namespace ``service`` (one a service host): binary, enabled, disabled_reason, alive, last_report_ms, audited.
    Others hold what their declared writer put there. A version of 0 stands for a document that is yet to be.
    ``partition`` is where the document lies; None: where the host of that name is.

    Version 1.0: Initial version
    Version 1.1: Add partition
    """

    VERSION = "1.1"

    fields = {
        "namespace": fields.StringField(),
        "name": fields.StringField(),
        "version": fields.IntegerField(),
        "document": base.JsonField(),
        "partition": fields.StringField(nullable=True, default=None),
    }

    def obj_make_compatible(self, primitive: dict[str, Any], target_version: str) -> None:
        super().obj_make_compatible(primitive, target_version)
        versions.drop_later(primitive, target_version, {"partition": (1, 1)})


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
