# SPDX-License-Identifier: Apache-2.0
"""The conductor's options."""

from oslo_config import cfg

from conductor.conf import conductor, quota, store


def register_opts(conf: cfg.ConfigOpts) -> None:
    for module in (conductor, quota, store):
        conf.register_opts(module.OPTS, group=module.GROUP)
