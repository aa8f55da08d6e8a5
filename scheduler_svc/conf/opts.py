# SPDX-License-Identifier: Apache-2.0
"""The scheduler's options, for the generated sample file."""

from oslo_config import cfg

from scheduler_svc.conf import MODULES, api, placement, placement_shadow


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    return [(module.GROUP, module.OPTS) for module in (*MODULES, api, placement, placement_shadow)]
