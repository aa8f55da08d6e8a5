# SPDX-License-Identifier: Apache-2.0
"""Options of gantt-nova-bridge: group [nova] and the store's options."""

from oslo_config import cfg

from rpcapi import errors
from rpcapi.conf import register_groups, rpc, service_group
from scheduler_svc.conf import namespaces, nova, partitions, scheduler, store


def register_opts(conf: cfg.ConfigOpts) -> None:
    register_groups(conf, rpc, service_group, scheduler, store, nova)


def check(conf: cfg.ConfigOpts) -> None:
    for module in (service_group, store, namespaces, partitions, nova):
        module.check(conf)
    if not conf.nova.api_database:
        raise errors.BadConfiguration(
            why="[nova] api_database is not set: gantt-nova-bridge reads cells and aggregates there; copy "
            "[api_database] connection from nova.conf, with a read-only user"
        )
