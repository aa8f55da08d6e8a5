# SPDX-License-Identifier: Apache-2.0
"""The scheduler's options, for the generated sample file."""

from oslo_config import cfg

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


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group, as oslo-config-generator asks for them."""
    deciding = (scheduler, prefilters, filter_scheduler, filters, weighers, plugins, metrics, solver)
    modules = (*deciding, store, notifications, namespaces, partitions)
    return [(module.GROUP, module.OPTS) for module in modules]
