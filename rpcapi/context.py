# SPDX-License-Identifier: Apache-2.0
"""Request context: caller, request id and deadline."""

import time
from typing import Any

from oslo_context import context as oslo_context

from rpcapi import errors

MAX_ID = 255  # characters
MAX_NUMBER = 10**15  # seconds or milliseconds
SENDER_KEY = "sender"  # key of the authenticated user in a received context


class RequestContext(oslo_context.RequestContext):
    """Context of oslo.context with a deadline. Requires clocks synchronized to within one second.

    ``deadline`` is Unix time in seconds (0: none), ``sent_ms`` the sender's clock, ``sender`` the authenticated user.
    ``host_uuid``, the identity of an agent's state folder, detects mix-ups but proves nothing. ``sender_project`` is
    the only project that the sender may access (None: all).
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
        # With overwrite=False, oslo.context still makes the first context current, which would put its request id in
        # all log lines outside of requests.
        self._detached = not overwrite
        super().__init__(overwrite=overwrite, **kwargs)
        self._detached = False
        self.deadline = float(deadline)
        self.sent_ms = sent_ms
        self.host_uuid = host_uuid
        self.sender: str | None = None
        self.sender_project: str | None = None

    def update_store(self) -> None:
        """Make this the thread's current context, for the ids in log lines."""
        if not self._detached:
            super().update_store()

    def to_dict(self) -> dict[str, Any]:
        agent = {} if self.host_uuid is None else {"host_uuid": self.host_uuid}
        return {
            "request_id": self.request_id,
            "project_id": self.project_id,
            "user_id": self.user_id,
            "deadline": self.deadline,
            **agent,
        }

    def get_logging_values(self) -> dict[str, Any]:
        return {key: "-" if value in (None, "") else value for key, value in super().get_logging_values().items()}

    @classmethod
    def from_dict(cls, values: dict[str, Any], **kwargs: Any) -> "RequestContext":
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
        """Return a copy with a deadline in ``seconds``, or the current deadline if sooner."""
        requested_deadline = time.time() + seconds
        values = self.to_dict() | {
            "deadline": min(requested_deadline, self.deadline) if self.deadline else requested_deadline
        }
        return RequestContext.from_dict(values, overwrite=False)

    def without_deadline(self) -> "RequestContext":
        return RequestContext.from_dict(self.to_dict() | {"deadline": 0.0}, overwrite=False)

    def remaining(self, default: float) -> float:
        """Return the seconds until the deadline, at least 0; ``default`` without a deadline."""
        return max(0.0, self.deadline - time.time()) if self.deadline else default

    def check_deadline(self) -> None:
        late = time.time() - self.deadline
        if self.deadline and late > 0:
            raise errors.DeadlinePassed(request_id=self.request_id, late=late)


def check_id(key: str, text: Any) -> None:
    """Raise MalformedObject unless ``text`` is 1 to MAX_ID printable characters; stores and logs rely on it."""
    if not isinstance(text, str) or not 1 <= len(text) <= MAX_ID or not text.isprintable():
        raise errors.MalformedObject(
            name="request context", why=f"{key} must be a string of 1 to {MAX_ID} printable characters"
        )


def _is_time(value: Any) -> bool:
    # Without conversion to float, which large integers would overflow.
    return isinstance(value, (int, float)) and abs(value) < MAX_NUMBER


def new(project_id: str = "", user_id: str = "", **kwargs: Any) -> RequestContext:
    """Return a context with a new request id, without making it the thread's current one."""
    return RequestContext(project_id=project_id, user_id=user_id, overwrite=False, **kwargs)
