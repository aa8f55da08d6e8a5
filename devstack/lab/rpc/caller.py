# SPDX-License-Identifier: Apache-2.0
"""Client of a measurement, on native threads like a user of the client library."""

import time
import uuid
from collections.abc import Callable, Iterator

import numpy as np
import oslo_messaging as messaging
from oslo_config import cfg

from devstack.lab import hosts
from devstack.lab.rpc.callers import CALL_SECONDS, ECHO, ClientCalls
from devstack.lab.rpc.echo_service import TOPIC
from rpcapi import conf as rpcapi_conf
from rpcapi import context, errors, objects
from rpcapi.cli.command import CommandFailed
from rpcapi.clients.scheduler import SchedulerAPI
from rpcapi.messaging import bus


class MeasuringCaller:
    """Caller of the echo service, or of the scheduler like a conductor; ``number`` seeds the requests."""

    def __init__(self, url: str, number: int) -> None:
        conf = cfg.ConfigOpts()
        rpcapi_conf.register_opts(conf)
        conf([], project="gantt", default_config_files=[], default_config_dirs=[])
        transport = bus.get_transport(conf, url)
        target = messaging.Target(topic=TOPIC, version="1.0")
        self._echo = bus.get_client(transport, target, timeout=CALL_SECONDS)
        self._scheduler = SchedulerAPI(conf, transport)
        self._servers = hosts.stream(number)
        self._random = np.random.default_rng(number)

    def call_for(self, size: int, seconds: float, per_second: float | None = None) -> ClientCalls:
        """Make calls for ``seconds``, back to back or at random arrivals. Raises CommandFailed if a call fails."""
        call: Callable[[], bool] = self._call_echo if size == ECHO else lambda: self._select(size)
        ends, durations, refusals = [], [], 0
        began = time.monotonic()
        arrivals = _back_to_back(began + seconds) if per_second is None else self._at_random(began, seconds, per_second)
        try:
            for arrival in arrivals:
                refusals += not call()
                now = time.monotonic()
                ends.append(now)
                durations.append(now - arrival)
        except (errors.GanttError, messaging.MessagingException) as error:
            raise CommandFailed(f"A measured call failed: {type(error).__name__}: {error}") from error
        return ClientCalls(began, np.array(ends), np.array(durations), refusals)

    def _at_random(self, began: float, seconds: float, per_second: float) -> Iterator[float]:
        """Yield the arrivals of a Poisson process, at least one, each when it can be served."""
        count = max(1, self._random.poisson(seconds * per_second))
        for arrival in began + np.sort(self._random.uniform(0, seconds, count)):
            time.sleep(max(0.0, arrival - time.monotonic()))
            yield arrival

    def _call_echo(self) -> bool:
        self._echo.call({}, "echo")
        return True

    def _select(self, size: int) -> bool:
        server = next(self._servers)
        spec = objects.RequestSpec.of(resources=dict(server.request.resources))
        uuids = [server.consumer, *(str(uuid.uuid4()) for _ in range(size - 1))]
        ctxt = context.new("lab", "lab").with_timeout(CALL_SECONDS)
        try:
            selections = self._scheduler.select_destinations(ctxt, spec, uuids)
        except errors.NoValidHost:
            return False
        if len(selections.chosen) != size:
            raise errors.MalformedObject(
                name="Selections", why=f"it is of {len(selections.chosen)} of {size} instances"
            )
        return True


def _back_to_back(end: float) -> Iterator[float]:
    """Yield the current time until ``end``, at least once."""
    now = time.monotonic()
    while True:
        yield now
        now = time.monotonic()
        if now >= end:
            return
