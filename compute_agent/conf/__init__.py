# SPDX-License-Identifier: Apache-2.0
"""The agent's options; the groups [shape:NAME] are registered after the files have been read."""

from oslo_config import cfg

from compute_agent.conf import compute, simulator


def register_opts(conf: cfg.ConfigOpts) -> None:
    for module in (compute, simulator):
        conf.register_opts(module.OPTS, group=module.GROUP)
