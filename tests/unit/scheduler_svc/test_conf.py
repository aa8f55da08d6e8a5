# SPDX-License-Identifier: Apache-2.0
"""The scheduler's options: what is listed for the sample is what is registered, and says what it does."""

import pytest

from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import namespaces, opts, partitions, store

LISTED = [
    (group, option)
    for group, options in opts.list_opts()
    if group not in (namespaces.GROUP, partitions.GROUP)  # stand for groups that a deployer names
    for option in options
]


@pytest.mark.parametrize(("group", "option"), LISTED, ids=[f"{group}.{option.name}" for group, option in LISTED])
def test_a_listed_option_is_registered_with_a_default_and_a_sentence(conf, group, option):
    scheduler_conf.register_opts(conf)
    assert conf[group][option.dest] == option.default
    assert option.help.endswith(".")


@pytest.mark.parametrize(
    "option", [option for option in store.OPTS if hasattr(option.type, "max")], ids=lambda o: o.name
)
def test_a_number_of_the_store_is_one_that_every_backend_can_reckon_with(option):
    assert option.type.min is not None and option.type.max is not None


def test_the_contracts_options_are_registered_too(conf):
    scheduler_conf.register_opts(conf)
    assert conf.rpc.partition == "default"
