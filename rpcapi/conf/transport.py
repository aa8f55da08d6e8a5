# SPDX-License-Identifier: Apache-2.0
"""Where the bus is: oslo.messaging registers this option, we tell of it in the sample file and before the fork."""

import importlib.metadata
from urllib.parse import urlsplit

from oslo_config import cfg

from rpcapi import errors
from rpcapi.drivers import address

GROUP = "DEFAULT"

OPTS = [
    cfg.StrOpt(
        "transport_url",
        secret=True,
        sample_default="gantt+redis:///0?socket=/run/gantt/bus.sock",
        help="Where the message bus is; every service and client must name the same one. RabbitMQ, under a user of "
        "the service's own: 'gantt-rabbit://user:password@host:5672/vhost'. The embedded bus, on a redis-server that "
        "serves nothing else: 'gantt+redis://user:password@host:6379/0', or over a Unix socket "
        "'gantt+redis://user:password@/0?socket=/path'.",
    ),
]

# What it may begin with, of what oslo.messaging finds: the rest is untried here.
DRIVERS = ("gantt-rabbit", "gantt+redis", "rabbit")


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration where the files that ``conf`` was read from name a bus that cannot be.

    Told without oslo.messaging, which a daemon's master must not import; what RabbitMQ's driver makes of the options in
    its URLs is told when the bus is opened.
    """
    url = _written(conf)
    if url is None:
        return
    scheme, separator, rest = url.partition("://")
    if not separator:
        raise malformed()
    if scheme.partition("+")[0] not in _installed():
        raise unknown_driver(scheme)
    try:
        for host in urlsplit(f"//{rest}").netloc.split(","):
            _ = urlsplit(f"//{host.rpartition('@')[2]}").port  # read, it is checked
    except ValueError:
        raise malformed() from None
    if scheme.partition("+")[0] == "gantt":
        address.parse(url)


def malformed() -> errors.BadConfiguration:
    """Return what to raise for a URL that is none; it is not shown, a password may be anywhere in it."""
    return errors.BadConfiguration(
        # Logs hide whatever looks like credentials in a URL, an example too.
        why="transport_url is malformed: write driver://host:port/virtual_host, where the host may have "
        "user:password@ before it, with special characters as %nn"
    )


def unknown_driver(name: str) -> errors.BadConfiguration:
    """Return what to raise for a URL that begins with ``name``."""
    # A URL that lacks "//" could put anything there.
    named = f" is no '{name}'" if name.replace("-", "").replace("+", "").isalnum() else " is none of that name"
    return errors.BadConfiguration(
        why=f"transport_url asks for an unknown driver: there{named}; there are {', '.join(DRIVERS)}"
    )


def _written(conf: cfg.ConfigOpts) -> str | None:
    """Read the option on a configuration of its own: oslo.messaging, later, refuses one that is not exactly its."""
    aside = cfg.ConfigOpts()
    aside.register_opts(OPTS)
    aside([], project="gantt", default_config_files=conf.config_file, default_config_dirs=conf.config_dir)
    url: str | None = aside.transport_url
    return url


def _installed() -> set[str]:
    return {driver.name for driver in importlib.metadata.entry_points(group="oslo.messaging.drivers")}
