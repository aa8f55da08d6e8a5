# SPDX-License-Identifier: Apache-2.0
"""Options of every daemon."""

from oslo_config import cfg

DEFAULT_EXECUTOR = "threading"

DAEMON: list[cfg.Opt] = [
    cfg.StrOpt(
        "executor",
        default=DEFAULT_EXECUTOR,
        choices=[
            ("threading", "a pool of native threads handles requests"),
            ("eventlet", "green threads in one native thread; needs the package eventlet"),
        ],
        help="Concurrency model of worker processes. Read once, before workers are forked. Eventlet support ends when "
        "oslo.messaging drops it.",
    ),
    cfg.IntOpt(
        "graceful_shutdown_timeout",
        default=30,
        min=1,
        help="Seconds that a worker has after SIGTERM to finish its requests. Then it is killed, and its callers time "
        "out. The service manager's stop timeout must be longer.",
    ),
    cfg.IntOpt(
        "worker_hang_timeout",
        default=30,
        min=2,
        help="Seconds without a heartbeat after which a serving worker counts as hung: its stacks are written to "
        "standard error, and it is killed and replaced. A starting worker has at least two minutes.",
    ),
]

METRICS_GROUP = cfg.OptGroup("metrics", title="Prometheus metrics")

METRICS: list[cfg.Opt] = [
    cfg.StrOpt(
        "listen",
        default="",
        help="Address, as host:port or [IPv6]:port, on which the daemon serves its workers' metrics to Prometheus. "
        "There is no authentication: use loopback or a management network. Empty: disabled.",
    ),
    cfg.StrOpt(
        "folder",
        default="",
        help="Folder of the workers' metrics; files of an earlier run are removed at start. Empty: a private folder "
        "under the service manager's runtime folder, or the system's temporary folder.",
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_opts(DAEMON)
    # By name: a shared OptGroup would carry options and overrides from one ConfigOpts to the next.
    conf.register_opts(METRICS, group=METRICS_GROUP.name)


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    return [("DEFAULT", DAEMON), (METRICS_GROUP.name, METRICS)]
