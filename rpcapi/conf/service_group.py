# SPDX-License-Identifier: Apache-2.0
"""Options of the service group: detection of live services."""

import importlib.metadata
import importlib.util

from oslo_config import cfg

from rpcapi import errors

GROUP = "service_group"
STORE, TOOZ = "store", "tooz"
BACKENDS = "tooz.backends"

OPTS: list[cfg.Opt] = [
    cfg.StrOpt(
        "driver",
        default=STORE,
        choices=[
            (STORE, "a service is up while its reports reach the scheduler's store"),
            (TOOZ, "a service is up while it is a member of its group at backend_url"),
        ],
        help="Driver that detects which services are up. Use the same value for all services of a partition.",
    ),
    cfg.StrOpt(
        "backend_url",
        default="",
        secret=True,
        help="URL of the coordination service in the form of tooz: zookeeper://host:2181, etcd3+http://host:2379, "
        "redis://host:6379, memcached://host:11211. Its own timeouts are set from 'timeout'. Only with the driver "
        "'tooz'.",
    ),
    cfg.FloatOpt(
        "timeout",
        default=30.0,
        min=4.0,
        max=3600.0,
        help="Seconds after which a dead service is marked down and its hosts get no instances; sessions last half as "
        "long. Only with the driver 'tooz'; 'store' uses [store] service_down_time.",
    ),
]


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration if tooz is unusable; the URL may contain a password and is not shown."""
    if conf.service_group.driver != TOOZ:
        return
    if importlib.util.find_spec("tooz") is None:
        raise errors.BadConfiguration(why=f"[{GROUP}] driver: 'tooz' is not installed; run: pip install tooz")
    scheme = conf.service_group.backend_url.partition("://")[0]
    schemes = sorted(name.name for name in importlib.metadata.entry_points(group=BACKENDS))
    if scheme not in schemes:
        raise errors.BadConfiguration(
            why=f"[{GROUP}] backend_url must begin with one of {', '.join(f'{name}://' for name in schemes)}"
        )
