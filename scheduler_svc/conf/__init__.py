# SPDX-License-Identifier: Apache-2.0
"""Options of the scheduler service."""

from oslo_config import cfg

from rpcapi import conf as rpcapi_conf
from rpcapi.conf import service_group
from scheduler_svc.conf import (
    filter_scheduler,
    filters,
    metrics,
    namespaces,
    notifications,
    partitions,
    plugins,
    prefilters,
    scheduler,
    solver,
    store,
    weighers,
)


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register what the scheduler reads, the contract's options included."""
    rpcapi_conf.register_opts(conf)
    for module in (scheduler, prefilters, filter_scheduler, filters, weighers, plugins, metrics, solver, notifications, store):
        module.register_opts(conf)


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for what no option's type can tell; imports nothing of the service."""
    deciding = (scheduler, filter_scheduler, filters, weighers, plugins, metrics, solver)
    checked = (service_group, *deciding, store, namespaces, partitions)
    for module in (*checked, notifications):
        module.check(conf)
