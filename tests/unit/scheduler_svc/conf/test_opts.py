# SPDX-License-Identifier: Apache-2.0
"""The scheduler's options: listed options are registered and documented."""

import pytest

from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import namespaces, opts, partitions, placement_service, placement_shadow

LISTED = [
    (group, option)
    for group, options in opts.list_opts()
    if group not in (namespaces.GROUP, partitions.GROUP)  # stand for groups that a deployer names
    for option in options
]


@pytest.mark.parametrize(("group", "option"), LISTED, ids=[f"{group}.{option.name}" for group, option in LISTED])
def test_listed_options_are_registered_with_default_and_help(conf, group, option):
    scheduler_conf.register_opts(conf)
    placement_service.register_opts(conf)
    placement_shadow.register_opts(conf)
    assert conf[group][option.dest] == option.default
    assert option.help.endswith(".")


def test_rpcapi_options_are_registered(conf):
    scheduler_conf.register_opts(conf)
    assert conf.rpc.partition == "default"
