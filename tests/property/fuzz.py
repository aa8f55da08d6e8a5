# SPDX-License-Identifier: Apache-2.0
"""Sends generated calls to a service, and checks each answer, what it changed and what was logged."""

import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oslo_messaging.rpc import dispatcher

from rpcapi import errors
from tests.property.calls import AHEAD, CONTEXTS, MALFORMED, calls_of, mostly
from tests.property.fuzzed_services import Dump, FuzzedService

CALLS = 4  # in an example: longer ones exceed what hypothesis generates
LINE = 1000  # characters
KEPT = 1000  # refused calls

# Sends a message with a context to a topic; returns None for an answer, or the error.
Send = Callable[[str, dict[str, Any], dict[str, Any]], Exception | None]
Call = tuple[str, dict[str, Any], dict[str, Any]]  # topic, message, context


class Lines(logging.Handler):
    """Measures what is logged, and keeps the last record that has a traceback."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.size = 0
        self.traceback: logging.LogRecord | None = None

    def emit(self, record: logging.LogRecord) -> None:
        self.size += len(record.getMessage())
        if record.exc_info:
            self.traceback = record


class Fuzz:
    """Generated calls of all exposed methods of one service."""

    def __init__(self, service: FuzzedService, send: Send) -> None:
        self._service = service
        self._send = send
        self.outcomes: Counter[str] = Counter()  # calls by their answer: "ok", or the class of an error
        self.accepted: set[str] = set()  # methods with an accepted call
        self.refused: list[Call] = []  # the first calls that were refused
        self._last: Dump | None = None  # the state that a refused call has left

    def run(self, examples: int) -> None:
        """Make ``examples`` sequences of CALLS calls for each method, whose calls are half of them.

        Raises AssertionError for the first fault.
        """
        topics = st.sampled_from(sorted(self._service.endpoints))
        methods = [st.tuples(st.just(topic), calls_of(method)) for topic, method in self._service.methods()]
        any_call = mostly(st.one_of(methods), st.tuples(topics, MALFORMED))
        lines = Lines()
        logging.getLogger().addHandler(lines)
        try:
            for method in methods:
                self._make_calls(st.tuples(method, CONTEXTS) | st.tuples(any_call, CONTEXTS), examples)
        finally:
            logging.getLogger().removeHandler(lines)
        assert lines.traceback is None, lines.traceback
        assert lines.size < LINE * self.outcomes.total()
        assert self.outcomes["ok"] > self.outcomes.total() // 10, self.outcomes

    def _make_calls(self, calls: st.SearchStrategy[Any], examples: int) -> None:
        @settings(
            max_examples=examples, deadline=None, derandomize=True, database=None, suppress_health_check=HealthCheck
        )
        @given(st.lists(calls, min_size=CALLS, max_size=CALLS))
        def make(calls: list[Any]) -> None:
            for (topic, message), ctxt in calls:
                self.call(topic, message, {"deadline": time.time() + AHEAD, **ctxt})

        make()

    def call(self, topic: str, message: dict[str, Any], ctxt: dict[str, Any]) -> None:
        """Make one call and check its effects."""
        before = self._service.dump() if self._last is None else self._last
        self._last = None
        error = self._send(topic, message, ctxt)
        if error is None:
            self.outcomes["ok"] += 1
            self.accepted.add(message["method"])
            self._service.settle()
            return
        self.outcomes[type(error).__name__] += 1
        assert isinstance(error, errors.GanttError | dispatcher.RPCDispatcherError), repr(error)
        text = str(error).partition("\nTraceback ")[0]  # which oslo.messaging adds to the text of a remote error
        assert len(text) < LINE, text
        if len(self.refused) < KEPT:
            self.refused.append((topic, message, ctxt))
        after = self._last = self._service.dump()
        names = sorted({*before, *after})
        changed = {name: (before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)}
        assert not changed, f"{message.get('method')} was refused with {error!r} and changed {changed}"
