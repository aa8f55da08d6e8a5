# SPDX-License-Identifier: Apache-2.0
"""Whether changes of host state are published as notifications, and where."""

from oslo_config import cfg

from rpcapi import errors

GROUP = "host_state_notifications"
KINDS = ("provider", "gone", "used", "service", "alive", "opened", "state", "epoch")

OPTS: list[cfg.Opt] = [
    cfg.BoolOpt(
        "enabled",
        default=False,
        help="Whether changes of host state are published as oslo.messaging notifications, at least once and in order. "
        "One scheduler worker at a time publishes those of a partition.",
    ),
    cfg.StrOpt(
        "transport_url",
        default="",
        secret=True,
        help="Where to publish: rabbit://, kafka:// or what else oslo.messaging has a driver for. Empty means "
        "[DEFAULT] transport_url; the embedded bus carries no notifications.",
    ),
    cfg.StrOpt(
        "driver",
        default="messagingv2",
        help="Notification driver of oslo.messaging: 'messagingv2' for a message bus, 'log' for the log.",
    ),
    cfg.ListOpt(
        "topics",
        default=["gantt_host_state"],
        help="Topics to publish on; a listener finds the notifications at priority 'info' of them.",
    ),
    cfg.ListOpt(
        "kinds",
        default=[kind for kind in KINDS if kind != "used"],
        help="Kinds of changes that are published. 'used', the sums of live claims, changes with every claim.",
    ),
    cfg.FloatOpt(
        "lease",
        default=15.0,
        min=1.0,
        max=3600.0,
        help="Seconds without a sign of life of the worker that publishes after which another takes over where it "
        "stopped.",
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of group [host_state_notifications]."""
    conf.register_opts(OPTS, group=GROUP)


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for a kind of change that there is not."""
    unknown = sorted(set(conf.host_state_notifications.kinds) - set(KINDS))
    if unknown:
        raise errors.BadConfiguration(
            why=f"[{GROUP}] kinds: there is no kind {', '.join(unknown)}; known: {', '.join(KINDS)}"
        )
