# SPDX-License-Identifier: Apache-2.0
"""The configured options of filters; scheduler_svc.conf.filters builds them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FilterOptions:
    """``metrics`` are the metrics that a host must report. The other options have Nova's meanings and defaults.

    An empty ``default_architecture`` or ``properties_namespace`` means none. With ``nova_enabled`` the hosts are
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
    nova_enabled: bool = False


DEFAULTS = FilterOptions()
