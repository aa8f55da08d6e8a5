# SPDX-License-Identifier: Apache-2.0
"""Options of filters, built by scheduler_svc.conf.filters."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FilterOptions:
    metrics: tuple[str, ...] = ()  # metrics that hosts must report
    max_io_ops_per_host: int = 8
    max_instances_per_host: int = 50
    default_architecture: str = ""  # Architecture of images that name none; "" skips the check.
    isolated_images: frozenset[str] = frozenset()
    isolated_hosts: tuple[str, ...] = ()
    restrict_isolated_hosts: bool = True
    properties_namespace: str = ""  # prefix of the image properties to match; empty: all properties
    properties_separator: str = "."


DEFAULTS = FilterOptions()
