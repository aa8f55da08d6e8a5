# SPDX-License-Identifier: Apache-2.0
"""The request context: caller, request id, and the deadline of the answer."""

import time
from typing import Any

from oslo_context import context as oslo_context

from rpcapi import errors

MAX_ID = 255  # characters
MAX_NUMBER = 10**15  # of seconds or milliseconds
# Key of a received context: the user whom the broker authenticated.
SENDER_KEY = "sender"


class RequestContext(oslo_context.RequestContext):
    """oslo.context's request context with a deadline in seconds of Unix time (0 = none).

    Clocks of all machines must be synchronized (NTP) to within one second. ``sent_ms`` of a received context is the
    sender's clock when it sent the message, or None if the message lacks it. ``host_uuid`` identifies the state folder
    of the agent that calls; None: the caller is no agent. It guards against mix-ups and proves nothing.
    """

    def __init__(
        self,
        *,
        deadline: float = 0.0,
        sent_ms: float | None = None,
        host_uuid: str | None = None,
        overwrite: bool = True,
        **kwargs: Any,
    ) -> None:
        # Without a current context oslo.context makes this one current even with overwrite=False; then log lines
        # outside of requests would have the id of the first request.
        self._detached = not overwrite
        super().__init__(overwrite=overwrite, **kwargs)
        self._detached = False
        self.deadline = float(deadline)
        self.sent_ms = sent_ms
        self.host_uuid = host_uuid
        # The broker's user who sent a received context; None on a bus that authenticates none. Never sent on.
        self.sender: str | None = None
        # The only project whose records that sender may read or change; None for all.
        self.sender_project: str | None = None

    def update_store(self) -> None:
        """Make this the thread's current context, which sets the ids in log lines."""
        if not self._detached:
            super().update_store()

    def to_dict(self) -> dict[str, Any]:
        """Return the serialized context; tokens and roles are not sent."""
        agent = {} if self.host_uuid is None else {"host_uuid": self.host_uuid}
        return {
            "request_id": self.request_id,
            "project_id": self.project_id,
            "user_id": self.user_id,
            "deadline": self.deadline,
            **agent,
        }

    def get_logging_values(self) -> dict[str, Any]:
        """Return the values for log lines, with '-' for values that are not set."""
        return {key: "-" if value is None else value for key, value in super().get_logging_values().items()}

    @classmethod
    def from_dict(cls, values: dict[str, Any], **kwargs: Any) -> "RequestContext":
        """Build from a peer's context; unknown keys are ignored."""
        ids = {key: values[key] for key in ("request_id", "project_id", "user_id", "host_uuid") if values.get(key)}
        for key, text in ids.items():
            check_id(key, text)
        deadline = values.get("deadline") or 0.0
        sent_ms = values.get("sent_ms")
        if not _is_time(deadline) or not (sent_ms is None or _is_time(sent_ms)):
            raise errors.MalformedObject(
                name="request context", why="the deadline and the time of sending must be finite numbers"
            )
        return cls(deadline=deadline, sent_ms=sent_ms, **ids, **kwargs)

    def with_timeout(self, seconds: float) -> "RequestContext":
        """Return a copy with a deadline ``seconds`` from now, or its own deadline when that is earlier."""
        requested_deadline = time.time() + seconds
        values = self.to_dict() | {
            "deadline": min(requested_deadline, self.deadline) if self.deadline else requested_deadline
        }
        return RequestContext.from_dict(values, overwrite=False)

    def without_deadline(self) -> "RequestContext":
        """Return a copy without a deadline, for a message without an answer."""
        return RequestContext.from_dict(self.to_dict() | {"deadline": 0.0}, overwrite=False)

    def remaining(self, default: float) -> float:
        """Return the remaining seconds, never negative, or ``default`` without a deadline."""
        return max(0.0, self.deadline - time.time()) if self.deadline else default

    def check_deadline(self) -> None:
        """Raise DeadlinePassed when the deadline has passed."""
        late = time.time() - self.deadline
        if self.deadline and late > 0:
            raise errors.DeadlinePassed(request_id=self.request_id, late=late)


def check_id(key: str, text: Any) -> None:
    """Raise MalformedObject unless ``text`` is a printable line of 1 to MAX_ID characters.

    This is the one check of request ids, projects and users: stores and logs rely on it. Half a surrogate pair, which
    JSON can carry but nothing can encode, is not printable.
    """
    if not isinstance(text, str) or not 1 <= len(text) <= MAX_ID or not text.isprintable():
        raise errors.MalformedObject(
            name="request context", why=f"{key} must be a string of 1 to {MAX_ID} printable characters"
        )


def _is_time(value: Any) -> bool:
    # Integers are compared, not converted: a large one does not fit into a float.
    return isinstance(value, (int, float)) and abs(value) < MAX_NUMBER


def new(project_id: str = "", user_id: str = "", **kwargs: Any) -> RequestContext:
    """Return a context with a new request id; it does not become the thread's current context."""
    return RequestContext(project_id=project_id, user_id=user_id, overwrite=False, **kwargs)
