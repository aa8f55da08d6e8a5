# SPDX-License-Identifier: Apache-2.0
"""HTTP server of one process with all errors in the API's format. Any WSGI server can serve the application."""

import functools

from rpcapi.daemon.http_listener import HttpServer
from scheduler_svc.placement.http.error_responses import plain_response
from scheduler_svc.placement.http.messages import MAX_BODY
from scheduler_svc.placement.model.problems import UNDEFINED, Problem


def _render_error(status: int, title: str, message: str) -> tuple[list[tuple[str, str]], bytes]:
    return plain_response(Problem(status, message, UNDEFINED), title)


# reuse_port: all worker processes listen on one address.
make_server = functools.partial(HttpServer, max_body=MAX_BODY, reuse_port=True, render_error=_render_error)
