# SPDX-License-Identifier: Apache-2.0
"""One client of a measurement, on native threads as a library's user is."""

import time
import uuid
from collections.abc import Callable

import numpy as np
import oslo_messaging as messaging
from oslo_config import cfg

from devstack.lab import requests
from devstack.lab.rpc_callers import CALL_SECONDS, ECHO, Spell
from devstack.lab.rpc_echo_service import TOPIC
from rpcapi import bus, context, errors, objects
from rpcapi import conf as rpcapi_conf
from rpcapi.scheduler import SchedulerAPI
from rpcapi.shell.faults import CommandFailed


class Caller:
    """Calls the echo, or asks for hosts as a conductor does; ``number`` settles for which servers."""

    def __init__(self, url: str, number: int) -> None:
        conf = cfg.ConfigOpts()
        rpcapi_conf.register_opts(conf)
        conf([], project="gantt", default_config_files=[], default_config_dirs=[])
        transport = bus.get_transport(conf, url)
        target = messaging.Target(topic=TOPIC, version="1.0")
        self._echo = bus.get_client(transport, target, timeout=CALL_SECONDS)
        self._scheduler = SchedulerAPI(conf, transport)
        self._wanted = requests.stream(number)

    def spell(self, size: int, seconds: float) -> Spell:
        """Call for so long, and finish the call that was begun; raises CommandFailed where one is not answered."""
        call: Callable[[], bool] = self._call_echo if size == ECHO else lambda: self._select(size)
        ends, taken, refused = [], [], 0
        now = began = time.monotonic()
        try:
            while now < began + seconds:
                before = now
                refused += not call()
                now = time.monotonic()
                ends.append(now)
                taken.append(now - before)
        except (errors.GanttError, messaging.MessagingException) as error:
            raise CommandFailed(f"A measured call failed: {type(error).__name__}: {error}") from error
        return Spell(began, np.array(ends), np.array(taken), refused)

    def _call_echo(self) -> bool:
        self._echo.call({}, "echo")
        return True

    def _select(self, size: int) -> bool:
        """Return whether hosts were found."""
        wanted = next(self._wanted)
        spec = objects.RequestSpec.of(resources=dict(wanted.request.resources))
        uuids = [wanted.consumer, *(str(uuid.uuid4()) for _ in range(size - 1))]
        ctxt = context.new("lab", "lab").within(CALL_SECONDS)
        try:
            found = self._scheduler.select_destinations(ctxt, spec, uuids)
        except errors.NoValidHost:
            return False
        if len(found.chosen) != size:
            raise errors.MalformedObject(name="Selections", why=f"it is of {len(found.chosen)} of {size} instances")
        return True
