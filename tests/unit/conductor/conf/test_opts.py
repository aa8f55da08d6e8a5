# SPDX-License-Identifier: Apache-2.0
"""The conductor's options in the sample file."""

from oslo_config import cfg

from conductor import conf as conductor_conf
from conductor.conf import opts


def test_every_option_is_listed_for_the_sample_file(conf: cfg.ConfigOpts) -> None:
    conductor_conf.register_opts(conf)
    for group, options in opts.list_opts():
        assert {option.dest for option in options} == set(conf[group])
