# SPDX-License-Identifier: Apache-2.0
"""What the configuration tells the filters; scheduler_svc.conf.filters reads it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """``metrics`` are the names that a host must report. All else is Nova's, with its meaning and default.

    An empty ``default_architecture`` or ``properties_namespace`` stands for none.
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


DEFAULTS = Options()
