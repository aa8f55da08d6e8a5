# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the clients' tests: a client of oslo.messaging that records calls, and the options of clients."""

import pytest

from rpcapi import conf as rpc_conf
from rpcapi.messaging import bus


class RecordingClient:
    """Fake of oslo.messaging's client; records how it was prepared and what was sent."""

    def __init__(self):
        self.prepared = {}
        self.sent = []
        self.contexts = []

    def prepare(self, **options):
        self.prepared = options
        return self

    def call(self, ctxt, method, **values):
        self.contexts.append(ctxt)
        self.sent.append(("call", method, values))

    def cast(self, ctxt, method, **values):
        self.contexts.append(ctxt)
        self.sent.append(("cast", method, values))

    def fails_with(self, error):
        """Raise ``error`` from all later calls and casts."""

        def fail(ctxt, method, **values):
            raise error

        self.call = self.cast = fail


@pytest.fixture
def sender(monkeypatch):
    client = RecordingClient()

    def get_client(transport, target, **options):
        client.target = target
        client.options = options
        return client

    monkeypatch.setattr(bus, "get_client", get_client)
    return client


@pytest.fixture
def options(conf):
    rpc_conf.register_opts(conf)
    conf.set_override("call_timeout", 20.0, group="rpc")
    conf.set_override("call_monitor_timeout", 5.0, group="rpc")
    return conf
