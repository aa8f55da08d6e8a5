# SPDX-License-Identifier: Apache-2.0
"""Nova's own client of its scheduler, and what a conductor does with the answers."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

os.environ["OS_NOVA_DISABLE_EVENTLET_PATCHING"] = "1"

from nova import context, objects
from nova.objects import base
from nova.scheduler import utils
from nova_select_side import NovaSchedulerClient
from peer_wire import serve


class SelectingClient(NovaSchedulerClient):
    """Client that returns plain values instead of Nova's objects."""

    def select(
        self, primitive: Mapping[str, Any], uuids: Sequence[str], *, return_objects: bool = True, maps: bool = False
    ) -> Mapping[str, Any]:
        """Return the selections of each instance, or the exception that a conductor would get.

        ``maps``: Nova fills the providers of the request's groups from the first selection and its alternates.
        """
        spec = base.NovaObject.obj_from_primitive(primitive)
        ctxt = context.RequestContext(user_id="u", project_id="p")
        try:
            answer = self.query.select_destinations(ctxt, spec, list(uuids), return_objects, return_objects)
        except Exception as why:  # what the conductor would handle
            mro = [f"{kind.__module__}.{kind.__name__}" for kind in type(why).__mro__]
            return {"raised": mro, "text": str(why), "kwargs": getattr(why, "kwargs", None)}
        if not return_objects:
            return {"rows": answer}
        mappings = [_mapping(spec, selection) for selection in answer[0]] if maps else []
        return {"rows": [[_fields(selection) for selection in row] for row in answer], "mappings": mappings}

    def cast(self, host: str, uuids: Sequence[str]) -> None:
        """Send the scheduler what a compute sends periodically, and what it sends when an instance is deleted."""
        ctxt = context.get_admin_context()
        self.query.sync_instance_info(ctxt, host, list(uuids))
        self.query.delete_instance_info(ctxt, host, uuids[0])


def _fields(selection: Any) -> Mapping[str, Any]:
    if not isinstance(selection, objects.Selection):
        raise TypeError(f"it is no Selection but {selection!r}")
    return {name: getattr(selection, name) for name in selection.fields if name != "limits"} | {
        "limits": selection.limits.to_dict()
    }


def _mapping(spec: Any, selection: Any) -> Mapping[str, Any]:
    utils.fill_provider_mapping(spec, selection)
    return {group.requester_id: list(group.provider_uuids) for group in spec.requested_resources}


if __name__ == "__main__":
    client = SelectingClient()
    serve({"connect": client.connect, "select": client.select, "cast": client.cast})
