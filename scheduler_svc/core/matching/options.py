# SPDX-License-Identifier: Apache-2.0
"""Options of filters, built by scheduler_svc.conf.filters."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FilterOptions:
    """Options with Nova's meanings and defaults, except ``metrics``, which hosts must report.

    Empty ``default_architecture`` or ``properties_namespace`` means none. ``nova_enabled`` says that the hosts are
    Nova's.
    """

    metrics: tuple[str, ...] = ()
    max_io_ops_per_host: int = 8
    max_instances_per_host: int = 50
    default_architecture: str = ""
    isolated_images: frozenset[str] = frozenset()
    isolated_hosts: tuple[str, ...] = ()
    restrict_isolated_hosts: bool = True
    properties_namespace: str = ""
    properties_separator: str = "."


DEFAULTS = FilterOptions()
