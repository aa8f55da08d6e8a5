# SPDX-License-Identifier: Apache-2.0
"""Request and response, as shown in the access log and metrics."""

from typing import Any

from oslo_context import context

UNKNOWN_ROUTE = "unknown"

_KEY = "gantt.exchange"  # key in a WSGI environment


class Exchange:
    """Id of a request, and the path of its route, with {...} for variable parts."""

    __slots__ = ("request_id", "route")

    def __init__(self) -> None:
        self.request_id: str = context.generate_request_id()
        self.route = UNKNOWN_ROUTE


def exchange_of(environ: dict[str, Any]) -> Exchange:
    exchange = environ.get(_KEY)
    if not isinstance(exchange, Exchange):
        exchange = environ[_KEY] = Exchange()
    return exchange
