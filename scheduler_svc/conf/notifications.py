# SPDX-License-Identifier: Apache-2.0
"""Options of group [host_state_notifications]."""

from oslo_config import cfg

from rpcapi import errors
from scheduler_svc.notifications.changes import DEFAULT_KINDS, KINDS

GROUP = "host_state_notifications"

OPTS: list[cfg.Opt] = [
    cfg.BoolOpt(
        "enabled",
        default=False,
        help="Whether to publish changes of host state as oslo.messaging notifications, at least once and in order. "
        "One scheduler worker at a time publishes for a partition.",
    ),
    cfg.StrOpt(
        "transport_url",
        default="",
        secret=True,
        help="URL to publish to: rabbit://, kafka:// or any other oslo.messaging driver. Empty: [DEFAULT] "
        "transport_url; the embedded bus does not support notifications.",
    ),
    cfg.StrOpt(
        "driver",
        default="messagingv2",
        help="Notification driver of oslo.messaging: 'messagingv2' for a message bus, 'log' for the log.",
    ),
    cfg.ListOpt(
        "topics",
        default=["gantt_host_state"],
        help="Topics to publish to, with priority 'info'.",
    ),
    cfg.ListOpt(
        "kinds",
        default=list(DEFAULT_KINDS),
        help="Kinds of changes to publish. 'used', the sums of live claims, changes with every claim.",
    ),
    cfg.FloatOpt(
        "lease",
        default=15.0,
        min=1.0,
        max=3600.0,
        help="Seconds without a renewal after which another worker takes over publishing.",
    ),
]


def check(conf: cfg.ConfigOpts) -> None:
    unknown = sorted(set(conf.host_state_notifications.kinds) - set(KINDS))
    if unknown:
        raise errors.BadConfiguration(
            why=f"[{GROUP}] kinds: unknown kind {', '.join(unknown)}; allowed: {', '.join(KINDS)}"
        )
