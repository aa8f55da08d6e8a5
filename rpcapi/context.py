# SPDX-License-Identifier: Apache-2.0
"""The request context: who asks, under which request id, and until when an answer is of use."""

import math
import time
from typing import Any

from oslo_context import context as oslo_context

from rpcapi import errors


class RequestContext(oslo_context.RequestContext):
    """oslo.context's, with a deadline in seconds of Unix time (0 = none).

    Machines must keep their clocks together (NTP) to within a second for deadlines to mean the same to all.
    """

    def __init__(self, *, deadline: float = 0.0, overwrite: bool = True, **kwargs: Any) -> None:
        # Even without `overwrite` oslo.context's becomes the thread's current one where there is none, and then
        # log lines that belong to no request carry the id of the first that was made.
        self._aside = not overwrite
        super().__init__(overwrite=overwrite, **kwargs)
        self._aside = False
        self.deadline = float(deadline)

    def update_store(self) -> None:
        """Become the thread's current context, the one whose ids log lines carry."""
        if not self._aside:
            super().update_store()

    def to_dict(self) -> dict[str, Any]:
        """Return what crosses the bus; tokens and roles are not part of it."""
        return {
            "request_id": self.request_id,
            "project_id": self.project_id,
            "user_id": self.user_id,
            "deadline": self.deadline,
        }

    def get_logging_values(self) -> dict[str, Any]:
        """Return what log lines tell of the request; '-' stands for what it does not say."""
        return {key: "-" if value is None else value for key, value in super().get_logging_values().items()}

    @classmethod
    def from_dict(cls, values: dict[str, Any], **kwargs: Any) -> "RequestContext":
        """Rebuild a peer's context; keys that this version does not know are dropped."""
        known = {key: values[key] for key in ("request_id", "project_id", "user_id") if values.get(key)}
        deadline = values.get("deadline") or 0.0
        sound = isinstance(deadline, (int, float)) and math.isfinite(deadline)
        if not sound or not all(isinstance(text, str) for text in known.values()):
            raise errors.MalformedObject(name="request context", why="an id is no string or the deadline no number")
        return cls(deadline=deadline, **known, **kwargs)

    def within(self, seconds: float) -> "RequestContext":
        """Return a copy that must be answered in ``seconds`` from now, or by its own deadline if that is sooner."""
        mine = time.time() + seconds
        values = self.to_dict() | {"deadline": min(mine, self.deadline) if self.deadline else mine}
        return RequestContext.from_dict(values, overwrite=False)

    def lasting(self) -> "RequestContext":
        """Return a copy without a deadline, for a message whose answer nobody waits for."""
        return RequestContext.from_dict(self.to_dict() | {"deadline": 0.0}, overwrite=False)

    def remaining(self, default: float) -> float:
        """Return the seconds left, or ``default`` where there is no deadline; never negative."""
        return max(0.0, self.deadline - time.time()) if self.deadline else default

    def check_deadline(self) -> None:
        """Raise DeadlinePassed when nobody waits for the answer any more."""
        late = time.time() - self.deadline
        if self.deadline and late > 0:
            raise errors.DeadlinePassed(request_id=self.request_id, late=late)


def new(project_id: str = "", user_id: str = "", **kwargs: Any) -> RequestContext:
    """Return a context with a fresh request id; it does not become the thread's current one."""
    return RequestContext(project_id=project_id, user_id=user_id, overwrite=False, **kwargs)
