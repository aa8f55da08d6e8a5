# SPDX-License-Identifier: Apache-2.0
"""Options of the simulated storage and network services."""

import pytest

from devstack.publishers import publisher


@pytest.mark.parametrize(("name", "value"), [("interval", 0.0), ("racks", 0), ("racks", 1001), ("physnets", 65)])
def test_value_out_of_range_is_rejected(conf, name, value):
    publisher.register_opts(conf)
    with pytest.raises(ValueError, match="Should be"):
        conf.set_override(name, value, group=publisher.GROUP)
