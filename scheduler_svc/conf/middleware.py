# SPDX-License-Identifier: Apache-2.0
"""Options of middleware libraries in gantt-placement, with defaults for Placement's API."""

from oslo_config import cfg
from oslo_middleware import cors, http_proxy_to_wsgi
from oslo_policy import opts as policy

CORS_GROUP, PROXY_GROUP = "cors", "oslo_middleware"


def register_opts(conf: cfg.ConfigOpts) -> None:
    _set_defaults()
    conf.register_opts(cors.OPTS, group=CORS_GROUP)
    conf.register_opts(http_proxy_to_wsgi.OPTS, group=PROXY_GROUP)


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group for oslo-config-generator, including those that oslo.policy registers itself."""
    _set_defaults()
    return [(CORS_GROUP, cors.OPTS), (PROXY_GROUP, list(http_proxy_to_wsgi.OPTS)), *policy.list_opts()]


def _set_defaults() -> None:
    cors.set_defaults(
        allow_headers=["X-Auth-Token", "OpenStack-API-Version", "X-OpenStack-Request-ID"],
        expose_headers=["OpenStack-API-Version", "X-OpenStack-Request-ID", "Location"],
        allow_methods=["GET", "POST", "PUT", "DELETE"],
    )
