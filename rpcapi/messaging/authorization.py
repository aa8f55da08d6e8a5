# SPDX-License-Identifier: Apache-2.0
"""RPC dispatch with authorization of senders."""

import logging
from typing import Any

import oslo_messaging as messaging

from rpcapi import errors
from rpcapi.access.callers import ServiceAccess
from rpcapi.access.senders import Sender, SenderDirectory
from rpcapi.context import SENDER_KEY, RequestContext
from rpcapi.messaging.dispatch import StrictDispatcher

LOG = logging.getLogger(__name__)

MAX_LOGGED = 1000  # users whose first refusal is logged


class AuthorizingDispatcher(StrictDispatcher):
    """Dispatcher that refuses senders by raising CallerRefused, counts refusals, and logs one per user."""

    serializer: Any

    def __init__(
        self, endpoints: list[Any], serializer: Any, *, access: ServiceAccess, directory: SenderDirectory
    ) -> None:
        super().__init__(endpoints, serializer)
        self._access = access
        self._directory = directory
        self._logged_users: set[str | None] = set()

    def _do_dispatch(self, endpoint: Any, method: str, ctxt: dict[str, Any], args: dict[str, Any]) -> Any:
        sender = self._directory.sender(ctxt.get(SENDER_KEY))
        try:
            self._access.check_role(method, sender)
            assert sender is not None  # noqa: S101 - check_role has refused it
            context = self.serializer.deserialize_context(ctxt)
            values = {name: self.serializer.deserialize_entity(context, value) for name, value in args.items()}
            self._access.check_host(method, sender, values)
            self._access.check_project(method, sender, getattr(context, "project_id", None), values)
        except errors.GanttError as error:
            self._count(endpoint, method, error)
            if isinstance(error, errors.CallerRefused):
                self._log_once(sender, error)
            # ExpectedException passes the error to the caller without a traceback in the server's log.
            raise messaging.ExpectedException() from error
        if isinstance(context, RequestContext):
            context.sender = sender.user
            if sender.project is not None:
                context.project_id = context.sender_project = sender.project
        try:
            answer = getattr(endpoint, method)(context, **values)
        except messaging.ExpectedException as expected:
            if isinstance(expected.exc_info[1], errors.CallerRefused):
                self._log_once(sender, expected.exc_info[1])
            raise
        return self.serializer.serialize_entity(context, answer)

    @staticmethod
    def _count(endpoint: Any, method: str, error: errors.GanttError) -> None:
        observe = getattr(endpoint, "_observe", None)
        if observe is not None:
            observe(method, error.code, 0.0)

    def _log_once(self, sender: Sender | None, error: errors.CallerRefused) -> None:
        user = sender.user if sender else None
        if user not in self._logged_users and len(self._logged_users) < MAX_LOGGED:
            self._logged_users.add(user)
            LOG.warning("%s. Further refusals of this sender are only counted.", error)
