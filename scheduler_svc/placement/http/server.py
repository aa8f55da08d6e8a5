# SPDX-License-Identifier: Apache-2.0
"""The HTTP server of one process, with all error responses in the form of the API.

Any other WSGI server can serve the application as well.
"""

import functools

from rpcapi.daemon.http_listener import HttpServer
from scheduler_svc.placement.http.error_responses import plain_response
from scheduler_svc.placement.http.messages import MAX_BODY
from scheduler_svc.placement.model.problems import UNDEFINED, Problem


def _render_error(status: int, title: str, message: str) -> tuple[list[tuple[str, str]], bytes]:
    return plain_response(Problem(status, message, UNDEFINED), title)


# All worker processes listen to one address.
make_server = functools.partial(HttpServer, max_body=MAX_BODY, reuse_port=True, render_error=_render_error)
