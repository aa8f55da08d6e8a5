# SPDX-License-Identifier: Apache-2.0
"""Options for oslo-config-generator."""

from rpcapi import conf as rpc_conf
from rpcapi.conf import opts


def test_every_group_is_listed_once_and_every_option_has_a_help_text():
    groups = opts.list_opts()
    assert len({name for name, _ in groups}) == len(groups)
    assert [option.name for _, options in groups for option in options if not option.help] == []


def test_all_registered_options_are_listed(conf):
    rpc_conf.register_opts(conf)
    listed = {(name, option.dest) for name, options in opts.list_opts() for option in options}
    registered = {(group, option) for group in conf if group in conf._groups for option in conf[group]}
    assert registered and registered <= listed
