# SPDX-License-Identifier: Apache-2.0
"""Options of rpcapi for oslo-config-generator."""

from oslo_config import cfg

from rpcapi.conf import (
    catalog,
    dashboard,
    flavors,
    images,
    rpc,
    scheduler_client,
    service_group,
    transport,
    upgrade_levels,
)


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    modules = (transport, rpc, scheduler_client, service_group, upgrade_levels, flavors, images, dashboard)
    return [
        *((module.GROUP, module.OPTS) for module in modules),
        (catalog.PCI_GROUP, catalog.PCI_OPTS),
        (catalog.PROFILE_GROUP, catalog.PROFILE_OPTS),
        (catalog.GUESTS_GROUP, catalog.GUESTS_OPTS),
    ]
