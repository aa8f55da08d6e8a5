# SPDX-License-Identifier: Apache-2.0
"""Options of group [rpc]."""

import pytest

from rpcapi.conf import register_groups, rpc


@pytest.mark.parametrize("name", ["default", "cell-1", "0_a", "a" * 63])
def test_partition_name_is_accepted(conf, name):
    register_groups(conf, rpc)
    conf.set_override("partition", name, group="rpc")
    assert conf.rpc.partition == name


@pytest.mark.parametrize("name", ["", "Cell", "a.b", "-a", "a" * 64, "a b"])
def test_other_partition_name_is_refused(conf, name):
    register_groups(conf, rpc)
    with pytest.raises(ValueError):
        conf.set_override("partition", name, group="rpc")


@pytest.mark.parametrize(("option", "value"), [("call_timeout", 0.0), ("max_instances", 0), ("max_instances", 1001)])
def test_value_out_of_range_is_refused(conf, option, value):
    register_groups(conf, rpc)
    with pytest.raises(ValueError):
        conf.set_override(option, value, group="rpc")
