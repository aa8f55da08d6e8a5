# SPDX-License-Identifier: Apache-2.0
"""The scheduler's options, for the generated sample file."""

from oslo_config import cfg

from scheduler_svc.conf import (
    filter_scheduler,
    metrics,
    namespaces,
    notifications,
    partitions,
    plugins,
    scheduler,
    store,
)


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group, as oslo-config-generator asks for them."""
    modules = (scheduler, filter_scheduler, plugins, metrics, store, notifications, namespaces, partitions)
    return [(module.GROUP, module.OPTS) for module in modules]
