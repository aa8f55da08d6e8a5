# SPDX-License-Identifier: Apache-2.0
"""Configuration options common to all clients and services."""

from oslo_config import cfg

from rpcapi.conf import rpc, scheduler_client, service_group, upgrade_levels


def register_opts(conf: cfg.ConfigOpts) -> None:
    for module in (rpc, scheduler_client, service_group, upgrade_levels):
        module.register_opts(conf)
