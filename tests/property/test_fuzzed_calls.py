# SPDX-License-Identifier: Apache-2.0
"""Any call of a scheduler is answered, or refused with a typed error that changes nothing and is a short line."""

import json
import logging
import time
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import oslo_messaging as messaging
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oslo_messaging.rpc import dispatcher

from rpcapi import errors
from rpcapi.messaging import bus
from tests.property.calls import GARBAGE, calls_of
from tests.unit.scheduler_svc.fakes.workers import FakeTransportWorker, node_report

CALLS = 10  # in an example
LINE = 1000  # characters


class Bench:
    """A scheduler worker whose dispatchers are called without a bus."""

    def __init__(self) -> None:
        servers: list[Any] = []
        stock = bus.StrictServer

        def server(*args: Any, **values: Any) -> Any:
            servers.append(stock(*args, **values))
            return servers[-1]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bus, "StrictServer", server)
            self.worker = FakeTransportWorker()
            self.worker.service.start()
        self.worker.join("h0", {"h0/n": node_report()})
        self.methods = [
            (server.dispatcher, getattr(endpoint, name))
            for server in servers
            for endpoint in server.dispatcher.endpoints
            for name in dir(endpoint)
            if not name.startswith("_") and hasattr(getattr(endpoint, name), "exposed")
        ]
        self.outcomes: Counter[str] = Counter()  # calls by their answer: "ok", or the class of an error

    def call(self, dispatch: Any, message: dict[str, Any], ctxt: dict[str, Any]) -> None:
        """Dispatch a message as it comes from the bus."""
        received = json.loads(json.dumps(message))
        before = self.state()
        try:
            dispatch.dispatch(SimpleNamespace(message=received, ctxt=ctxt, client_timeout=None))
            self.outcomes["ok"] += 1
        except messaging.ExpectedException as expected:
            error = expected.exc_info[1]
            self.outcomes[type(error).__name__] += 1
            assert isinstance(error, errors.GanttError | dispatcher.RPCDispatcherError), repr(error)
            assert len(str(error)) < LINE
            assert self.state() <= before, f"{message['method']} was refused with {error!r} and changed something"

    def state(self) -> set[str]:
        """Return the names of claims and hosts; they may expire, and so become fewer, at any time."""
        return {claim.consumer for claim in self.worker.store.claims()[0]} | set(self.worker.store.snapshot().services)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    created = Bench()
    yield created
    created.worker.service.stop()
    created.worker.service.wait()


class Lines(logging.Handler):
    """Measures what is logged, and keeps the first record that has a traceback."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.size = 0
        self.traceback: logging.LogRecord | None = None

    def emit(self, record: logging.LogRecord) -> None:
        self.size += len(record.getMessage())
        if record.exc_info:
            self.traceback = record


def fuzz(bench: Bench, examples: int) -> None:
    contexts = st.just({}) | st.fixed_dictionaries({"request_id": GARBAGE, "deadline": GARBAGE, "user_id": GARBAGE})
    methods = st.one_of(*(st.tuples(st.just(dispatch), calls_of(method)) for dispatch, method in bench.methods))
    lines = Lines()

    @settings(max_examples=examples, deadline=None, derandomize=True, database=None, suppress_health_check=HealthCheck)
    @given(st.lists(st.tuples(methods, contexts), min_size=CALLS, max_size=CALLS))
    def run(calls: list[Any]) -> None:
        for (dispatch, message), ctxt in calls:
            bench.call(dispatch, message, {"deadline": time.time() + 30, **ctxt})

    logging.getLogger().addHandler(lines)
    try:
        run()
    finally:
        logging.getLogger().removeHandler(lines)
    assert lines.traceback is None, lines.traceback
    assert lines.size < LINE * bench.outcomes.total()
    assert bench.outcomes["ok"] > examples // 10, "some calls are valid"
    print(bench.outcomes.total(), "calls:", dict(bench.outcomes.most_common()))


def test_fuzzed_calls_short(bench: Bench) -> None:
    fuzz(bench, 60)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_fuzzed_calls_long(bench: Bench) -> None:
    fuzz(bench, 5500)
    assert bench.outcomes.total() >= 50_000
