# SPDX-License-Identifier: Apache-2.0
"""Options of groups [cors] and [oslo_middleware], which are oslo.middleware's, with defaults for Placement's API."""

from oslo_config import cfg
from oslo_middleware import cors, http_proxy_to_wsgi

CORS_GROUP, PROXY_GROUP = "cors", "oslo_middleware"


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options on ``conf``; the defaults let pages of allowed origins do what clients do."""
    cors.set_defaults(
        allow_headers=["X-Auth-Token", "OpenStack-API-Version", "X-OpenStack-Request-ID"],
        expose_headers=["OpenStack-API-Version", "X-OpenStack-Request-ID", "Location"],
        allow_methods=["GET", "POST", "PUT", "DELETE"],
    )
    conf.register_opts(cors.OPTS, group=CORS_GROUP)
    conf.register_opts(http_proxy_to_wsgi.OPTS, group=PROXY_GROUP)
