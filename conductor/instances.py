# SPDX-License-Identifier: Apache-2.0
"""Instances as callers see them."""

from collections.abc import Sequence

from conductor.store.interface import PAGE, Store
from conductor.store.records import Instance
from rpcapi import errors, objects
from rpcapi.model.request import check_uuids


class Instances:
    """Reads; ``most`` is how many instances one call may name."""

    def __init__(self, store: Store, most: int) -> None:
        self._store = store
        self._most = most

    def get(self, uuids: Sequence[str]) -> objects.InstancePage:
        """Return the named instances in that order; raises UnknownInstance, InvalidRequest's kinds."""
        check_uuids(uuids, self._most)
        known = self._store.get(uuids)
        for uuid in uuids:
            if uuid not in known:
                raise errors.UnknownInstance(uuid=uuid)
        return self._page([known[uuid] for uuid in uuids], None)

    def list(self, marker: str | None, limit: int, *, deleted: bool) -> objects.InstancePage:
        """Return at most ``limit`` instances, and never more than PAGE, oldest first; raises InvalidRequest."""
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            raise errors.InvalidRequest(why=f"the limit must be an integer from 1 up, not {str(limit)[:40]!r}")
        if marker is not None and not isinstance(marker, str):
            raise errors.InvalidRequest(why="the marker must be the text that the last page gave")
        page = self._store.page(marker, min(limit, PAGE), deleted=bool(deleted))
        return self._page(page.instances, page.marker)

    def _page(self, found: Sequence[Instance], marker: str | None) -> objects.InstancePage:
        requests = self._store.requests(sorted({each.request for each in found}))
        shown = []
        for each in found:
            # The last of a request's instances may have been forgotten between the two looks.
            if (request := requests.get(each.request)) is not None:
                shown.append(
                    objects.Instance.of(
                        uuid=each.uuid,
                        request_id=request.request_id,
                        project_id=request.project,
                        user_id=request.user,
                        flavor=request.flavor,
                        status=each.status.value,
                        host=each.host,
                        attempt=each.attempt,
                        reason=each.reason,
                        history=[dict(entry) for entry in each.history],
                        created_ms=each.created_ms,
                        updated_ms=each.updated_ms,
                    )
                )
        return objects.InstancePage.of(instances=shown, marker=marker)
