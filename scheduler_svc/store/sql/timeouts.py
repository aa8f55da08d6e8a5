# SPDX-License-Identifier: Apache-2.0
"""Client-side timeout of psycopg connections, for a server that hangs and cannot apply its own."""

import time
from collections.abc import Generator
from typing import Any

import psycopg

from scheduler_svc.store.sql.dialect import ANSWER_SECONDS

SILENCE_SECONDS = ANSWER_SECONDS + 2.0  # longer than the server's statement timeout


class TimeoutConnection(psycopg.Connection[Any]):
    """Connection that closes if an answer, even to a commit that awaits a standby, takes ``silence_seconds``."""

    silence_seconds: float | None = None

    def wait(self, gen: Generator[Any, Any, Any], *arguments: Any, **options: Any) -> Any:
        return super().wait(self._bounded(gen), *arguments, **options)

    def _bounded(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Forward the waits of ``gen``, and check the deadline after each: psycopg resumes ten times a second."""
        seconds = self.silence_seconds or SILENCE_SECONDS
        deadline = time.monotonic() + seconds
        try:
            state = next(gen)
            while True:
                ready = yield state
                if not ready and time.monotonic() >= deadline:
                    self.close()
                    raise psycopg.OperationalError(f"no answer within {seconds:g} s")
                state = gen.send(ready)
        except StopIteration as done:
            return done.value
