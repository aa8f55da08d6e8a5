# SPDX-License-Identifier: Apache-2.0
"""WSGI applications on loopback ports."""

from contextlib import ExitStack

from devstack.servers.ports import free_port
from rpcapi.daemon.http_listener import ContextSource
from scheduler_svc.placement.http.authentication import Application
from scheduler_svc.placement.http.server import make_server

SHUTDOWN_SECONDS = 30


def serve(stack: ExitStack, application: Application, tls: ContextSource | None = None) -> str:
    """Serve an application until the stack is closed; return its URL."""
    server = make_server(application, "127.0.0.1", free_port(), 2, shutdown_s=SHUTDOWN_SECONDS, tls=tls)
    server.start()
    stack.callback(server.wait)
    stack.callback(server.stop)
    return server.url
