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
            (KEYSTONE, "tokens are validated by Keystone, as [keystone_authtoken] configures"),
            (NO_AUTHENTICATION, "every token is believed: 'admin' is an administrator. For development only"),
        ],
        help="How gantt-placement authenticates requests. It is read when a process starts.",
    ),
]
