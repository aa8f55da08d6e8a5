# SPDX-License-Identifier: Apache-2.0
"""Request context: caller, request id and deadline."""

import time
from typing import Any

from oslo_context import context as oslo_context

from rpcapi import errors

MAX_ID = 255  # characters
MAX_NUMBER = 10**15  # seconds or milliseconds
# Key of a received context: user authenticated by the broker.
SENDER_KEY = "sender"


class RequestContext(oslo_context.RequestContext):
    """oslo.context's request context with a deadline.

    Clocks of all machines must be synchronized (NTP) to within one second.

    Attributes:
        deadline: Unix time in seconds; 0 for none.
        sent_ms: Sender's clock when it sent the message; None if unknown.
        host_uuid: State folder of the calling agent; None for other callers. Guards against mix-ups, proves nothing.
        sender: Broker user who sent a received context; None on a bus without authentication. Never sent on.
        sender_project: Only project whose records the sender may access; None for all.
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
        # Without a current context, oslo.context makes this one current even with overwrite=False. Log lines outside of
        # requests would then have the id of the first request.
        self._detached = not overwrite
        super().__init__(overwrite=overwrite, **kwargs)
        self._detached = False
        self.deadline = float(deadline)
        self.sent_ms = sent_ms
        self.host_uuid = host_uuid
        self.sender: str | None = None
        self.sender_project: str | None = None

    def update_store(self) -> None:
        """Make this the thread's current context, which sets the ids in log lines."""
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
        """Build from a peer's context; unknown keys are ignored. Raises MalformedObject."""
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
        """Return a copy whose deadline is at most ``seconds`` from now."""
        requested_deadline = time.time() + seconds
        values = self.to_dict() | {
            "deadline": min(requested_deadline, self.deadline) if self.deadline else requested_deadline
        }
        return RequestContext.from_dict(values, overwrite=False)

    def without_deadline(self) -> "RequestContext":
        return RequestContext.from_dict(self.to_dict() | {"deadline": 0.0}, overwrite=False)

    def remaining(self, default: float) -> float:
        """Return the remaining seconds, at least 0; ``default`` without a deadline."""
        return max(0.0, self.deadline - time.time()) if self.deadline else default

    def check_deadline(self) -> None:
        late = time.time() - self.deadline
        if self.deadline and late > 0:
            raise errors.DeadlinePassed(request_id=self.request_id, late=late)


def check_id(key: str, text: Any) -> None:
    """Raise MalformedObject unless ``text`` is a printable line of 1 to MAX_ID characters.

    Stores and logs rely on this only check of request ids, projects and users. A lone surrogate, valid JSON but not
    encodable, is not printable.
    """
    if not isinstance(text, str) or not 1 <= len(text) <= MAX_ID or not text.isprintable():
        raise errors.MalformedObject(
            name="request context", why=f"{key} must be a string of 1 to {MAX_ID} printable characters"
        )


def _is_time(value: Any) -> bool:
    # Compare integers without conversion: large ones overflow a float.
    return isinstance(value, (int, float)) and abs(value) < MAX_NUMBER


def new(project_id: str = "", user_id: str = "", **kwargs: Any) -> RequestContext:
    """Return a context with a new request id that does not become the thread's current one."""
    return RequestContext(project_id=project_id, user_id=user_id, overwrite=False, **kwargs)
