# SPDX-License-Identifier: Apache-2.0
"""Options of group [api]."""

from oslo_config import cfg

GROUP = "api"
KEYSTONE, NO_AUTHENTICATION = "keystone", "noauth2"

OPTS: list[cfg.Opt] = [
    cfg.StrOpt(
        "auth_strategy",
        default=KEYSTONE,
        choices=[
            (KEYSTONE, "Keystone validates tokens, see [keystone_authtoken]"),
            (NO_AUTHENTICATION, "every token is accepted, 'admin' as an administrator. For development only"),
        ],
        help="How gantt-placement authenticates requests. Read at start.",
    ),
]
