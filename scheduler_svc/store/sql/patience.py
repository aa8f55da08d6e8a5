# SPDX-License-Identifier: Apache-2.0
"""psycopg's connection, with an end to its patience: the server's own time-outs are no help where it hangs."""

import time
from collections.abc import Generator
from typing import Any

import psycopg

from scheduler_svc.store.sql.dialect import ANSWER_SECONDS

SILENCE_SECONDS = ANSWER_SECONDS + 2.0  # a server that lives ends a statement itself before


class PatientConnection(psycopg.Connection[Any]):
    """A connection that is given up when an answer takes longer than any does.

    A commit that waits for a synchronous standby is no statement: the server itself would let it wait for ever.
    """

    def wait(self, gen: Generator[Any, Any, Any], *arguments: Any, **options: Any) -> Any:
        return super().wait(self._bounded(gen), *arguments, **options)

    def _bounded(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Pass on what ``gen`` waits for, and what became of it; psycopg comes back ten times a second."""
        deadline = time.monotonic() + SILENCE_SECONDS
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() >= deadline:
                    self.close()
                    raise psycopg.OperationalError(f"no answer within {SILENCE_SECONDS:g} s")
                wanted = gen.send(ready)
        except StopIteration as done:
            return done.value
