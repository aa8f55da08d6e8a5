# SPDX-License-Identifier: Apache-2.0
"""Options of the scheduler service."""

from oslo_config import cfg

from rpcapi import conf as rpcapi_conf
from rpcapi.conf import service_group
from scheduler_svc.conf import (
    filters,
    metrics,
    namespaces,
    notifications,
    nova,
    partitions,
    plugins,
    prefilters,
    scheduler,
    solver,
    store,
    weighers,
)

_DECIDING = (scheduler, prefilters, filters, weighers, plugins, metrics, nova)
# All modules with options, in the order of the sample file.
MODULES = (*_DECIDING, solver, store, notifications, namespaces, partitions)


def register_opts(conf: cfg.ConfigOpts) -> None:
    rpcapi_conf.register_opts(conf)
    rpcapi_conf.register_groups(conf, *_DECIDING, solver, notifications, store)


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for errors that option types cannot detect. Imports no service code."""
    for module in (service_group, *_DECIDING, store, namespaces, partitions, notifications):
        module.check(conf)
