# SPDX-License-Identifier: Apache-2.0
"""Options of the contract: what every client and service reads."""

from oslo_config import cfg

from rpcapi.conf import rpc, scheduler_client, service_group, upgrade_levels


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options that every client and service of gantt reads."""
    for module in (rpc, scheduler_client, service_group, upgrade_levels):
        module.register_opts(conf)
