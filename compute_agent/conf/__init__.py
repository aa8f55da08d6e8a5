# SPDX-License-Identifier: Apache-2.0
"""The agent's options; the groups [shape:NAME] are found in the files once these have been read."""

from oslo_config import cfg

from compute_agent.conf import compute, simulator


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the agent's options whose names are known before the files are read."""
    for module in (compute, simulator):
        module.register_opts(conf)
