# SPDX-License-Identifier: Apache-2.0
"""Options of gantt-placement-shadow that a type does not check."""

import pytest

from rpcapi import errors
from scheduler_svc.conf import placement_shadow


@pytest.mark.parametrize(
    ("placement_url", "gantt_url", "text"),
    [
        (None, "http://gantt.example", "placement_url is not set"),
        ("http://placement.example", None, "gantt_url is not set"),
        ("http://one.example/", "http://one.example", "are both"),
    ],
)
def test_both_ends_are_required(conf, placement_url, gantt_url, text):
    placement_shadow.register_opts(conf)
    conf.set_override("placement_url", placement_url, group=placement_shadow.GROUP)
    conf.set_override("gantt_url", gantt_url, group=placement_shadow.GROUP)
    with pytest.raises(errors.BadConfiguration, match=text):
        placement_shadow.check(conf)


def test_two_ends_are_accepted(conf):
    placement_shadow.register_opts(conf)
    conf.set_override("placement_url", "http://one.example", group=placement_shadow.GROUP)
    conf.set_override("gantt_url", "http://two.example", group=placement_shadow.GROUP)
    placement_shadow.check(conf)
