# SPDX-License-Identifier: Apache-2.0
"""Options of gantt-placement: its own and the store's."""

from oslo_config import cfg

from rpcapi.conf import register_groups, rpc, service_group
from scheduler_svc.conf import (
    api,
    middleware,
    namespaces,
    partitions,
    placement,
    scheduler,
    store,
)


def register_opts(conf: cfg.ConfigOpts) -> None:
    register_groups(conf, rpc, service_group, scheduler, store, api, placement)
    middleware.register_opts(conf)


def check(conf: cfg.ConfigOpts) -> None:
    for module in (service_group, store, namespaces, partitions, placement):
        module.check(conf)
