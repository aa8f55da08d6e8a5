# SPDX-License-Identifier: Apache-2.0
"""The quota of a project."""

from rpcapi import objects


def test_names_that_are_used_or_limited_are_listed_in_order():
    quota = objects.ProjectQuota.of_usage({"instances": 2, "VCPU": 4}, {"VCPU": 8, "DISK_GB": 0})
    assert (quota.resources, quota.used, quota.limits) == (["DISK_GB", "VCPU", "instances"], [0, 4, 2], [0, 8, None])
