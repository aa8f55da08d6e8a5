# SPDX-License-Identifier: Apache-2.0
"""The conductor's options for oslo-config-generator."""

from oslo_config import cfg

from conductor.conf import conductor, quota, store


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    return [(module.GROUP, module.OPTS) for module in (conductor, quota, store)]
