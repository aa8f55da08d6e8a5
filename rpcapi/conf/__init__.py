# SPDX-License-Identifier: Apache-2.0
"""Configuration options common to all clients and services."""

from typing import Any

from oslo_config import cfg

from rpcapi.conf import rpc, scheduler_client, service_group, upgrade_levels


def register_opts(conf: cfg.ConfigOpts) -> None:
    register_groups(conf, rpc, scheduler_client, service_group, upgrade_levels)


def register_groups(conf: cfg.ConfigOpts, *modules: Any) -> None:
    for module in modules:
        conf.register_opts(module.OPTS, group=module.GROUP)
