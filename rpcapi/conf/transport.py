# SPDX-License-Identifier: Apache-2.0
"""Option transport_url: registered by oslo.messaging, documented and checked by gantt."""

import importlib.metadata
from urllib.parse import urlsplit

from oslo_config import cfg

from rpcapi import errors
from rpcapi.conf import bus_address

GROUP = "DEFAULT"

OPTS = [
    cfg.StrOpt(
        "transport_url",
        secret=True,
        sample_default="gantt+redis:///0?socket=/run/gantt/bus.sock",
        help="URL of the message bus, the same for all services and clients. RabbitMQ, with a separate user for each "
        "service: 'gantt-rabbit://user:password@host:5672/vhost'. The embedded bus, on a dedicated "
        "redis-server: 'gantt+redis://user:password@host:6379/0', or over a Unix socket "
        "'gantt+redis://user:password@/0?socket=/path'.",
    ),
]

# oslo.messaging's other drivers are not tested.
DRIVERS = ("gantt-rabbit", "gantt+redis", "rabbit")


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for an invalid URL, without oslo.messaging, which a master must not import."""
    url = read_url(conf)
    if url is None:
        return
    scheme, separator, rest = url.partition("://")
    if not separator:
        raise malformed_url()
    if scheme.partition("+")[0] not in _installed_drivers():
        raise unknown_driver(scheme)
    try:
        for host in urlsplit(f"//{rest}").netloc.split(","):
            _ = urlsplit(f"//{host.rpartition('@')[2]}").port  # access validates the port
    except ValueError:
        raise malformed_url() from None
    if scheme.partition("+")[0] == "gantt":
        bus_address.parse(url)


def malformed_url() -> errors.BadConfiguration:
    """Return the error for a malformed URL, which may contain a password and is not shown."""
    return errors.BadConfiguration(
        why="transport_url is malformed: write driver://user:password@host:port/virtual_host, user and password being "
        "optional, with special characters as %nn"
    )


def unknown_driver(name: str) -> errors.BadConfiguration:
    # A malformed URL may have a password here.
    problem = f" '{name}'" if name.replace("-", "").replace("+", "").isalnum() else ""
    return errors.BadConfiguration(why=f"transport_url has an unknown driver{problem}; known: {', '.join(DRIVERS)}")


def missing_package(driver: str, package: str) -> errors.BadConfiguration:
    return errors.BadConfiguration(
        why=f"transport_url: driver '{driver}' needs the package {package}; run: pip install 'gantt[embedded]'"
    )


def read_url(conf: cfg.ConfigOpts) -> str | None:
    """Read transport_url in a private ConfigOpts, because oslo.messaging refuses a differing registration."""
    own_conf = cfg.ConfigOpts()
    own_conf.register_opts(OPTS)
    own_conf([], project="gantt", default_config_files=conf.config_file, default_config_dirs=conf.config_dir)
    url: str | None = own_conf.transport_url
    return url


def _installed_drivers() -> set[str]:
    return {driver.name for driver in importlib.metadata.entry_points(group="oslo.messaging.drivers")}
