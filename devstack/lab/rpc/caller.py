# SPDX-License-Identifier: Apache-2.0
"""One client of a measurement, on native threads as a user of the client library."""

import time
import uuid
from collections.abc import Callable

import numpy as np
import oslo_messaging as messaging
from oslo_config import cfg

from devstack.lab import requests
from devstack.lab.rpc.client_calls import CALL_SECONDS, ECHO, ClientCalls
from devstack.lab.rpc.echo_service import TOPIC
from rpcapi import conf as rpcapi_conf
from rpcapi import context, errors, objects
from rpcapi.cli.error_messages import CommandFailed
from rpcapi.clients.scheduler import SchedulerAPI
from rpcapi.messaging import bus


class Caller:
    """Calls the echo service, or selects hosts as a conductor does; ``number`` seeds the requests."""

    def __init__(self, url: str, number: int) -> None:
        conf = cfg.ConfigOpts()
        rpcapi_conf.register_opts(conf)
        conf([], project="gantt", default_config_files=[], default_config_dirs=[])
        transport = bus.get_transport(conf, url)
        target = messaging.Target(topic=TOPIC, version="1.0")
        self._echo = bus.get_client(transport, target, timeout=CALL_SECONDS)
        self._scheduler = SchedulerAPI(conf, transport)
        self._servers = requests.stream(number)

    def call_for(self, size: int, seconds: float) -> ClientCalls:
        """Repeat calls for ``seconds`` and finish the last one; raises CommandFailed if a call fails."""
        call: Callable[[], bool] = self._call_echo if size == ECHO else lambda: self._select(size)
        ends, durations, refusals = [], [], 0
        now = began = time.monotonic()
        try:
            while now < began + seconds:
                before = now
                refusals += not call()
                now = time.monotonic()
                ends.append(now)
                durations.append(now - before)
        except (errors.GanttError, messaging.MessagingException) as error:
            raise CommandFailed(f"A measured call failed: {type(error).__name__}: {error}") from error
        return ClientCalls(began, np.array(ends), np.array(durations), refusals)

    def _call_echo(self) -> bool:
        self._echo.call({}, "echo")
        return True

    def _select(self, size: int) -> bool:
        """Return whether hosts were selected."""
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
