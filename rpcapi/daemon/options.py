# SPDX-License-Identifier: Apache-2.0
"""The options that every daemon has."""

from oslo_config import cfg

DAEMON: list[cfg.Opt] = [
    cfg.StrOpt(
        "executor",
        default="eventlet",
        choices=[
            ("eventlet", "green threads: thousands of waiting requests in one system thread"),
            ("threading", "native threads: a pool of them handles the requests"),
        ],
        help="What a worker process runs its requests on. It is read once, before the workers are forked.",
    ),
    cfg.IntOpt(
        "graceful_shutdown_timeout",
        default=30,
        min=1,
        help="Seconds that a worker is given, after SIGTERM, to finish what it has taken. Then it is ended, "
        "and its callers see timeouts. A service manager's own stop timeout must be longer.",
    ),
    cfg.IntOpt(
        "worker_hang_timeout",
        default=30,
        min=2,
        help="Seconds without a sign of life after which a serving worker process counts as hung: its stacks "
        "are written to standard error, it is killed and another takes its place. While it starts it has at "
        "least two minutes.",
    ),
]

METRICS_GROUP = cfg.OptGroup("metrics", title="Prometheus metrics")

METRICS: list[cfg.Opt] = [
    cfg.StrOpt(
        "listen",
        default="",
        help="Address, as host:port or [IPv6]:port, on which the daemon serves the sum of all its workers to "
        "Prometheus. There is no authentication: keep it on loopback or a management network. Empty means "
        "none.",
    ),
    cfg.StrOpt(
        "folder",
        default="",
        help="Folder in which the workers share their figures; what an earlier run left there is removed at "
        "start. Empty means a private one under the service manager's runtime folder, or the system's "
        "temporary folder.",
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the frame's options on ``conf``."""
    conf.register_opts(DAEMON)
    # By name: copies of one OptGroup share what is registered and overridden, and so would all configurations.
    conf.register_opts(METRICS, group=METRICS_GROUP.name)


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group, for the sample file."""
    return [("DEFAULT", DAEMON), (METRICS_GROUP.name, METRICS)]
