# SPDX-License-Identifier: Apache-2.0
"""What a request counts, and who may have a share of the backlog."""

import pytest

from conductor.admission import Admission, AdmissionLimits, count_amounts
from rpcapi import errors, objects


def test_resources_of_all_groups_count() -> None:
    spec = objects.RequestSpec.of(
        resources={"VCPU": 2, "MEMORY_MB": 512},
        groups={"1": {"resources": {"SRIOV_NET_VF": 1}}, "2": {"resources": {"SRIOV_NET_VF": 1, "VCPU": 1}}},
    )
    assert count_amounts(spec) == {"instances": 1, "VCPU": 3, "MEMORY_MB": 512, "SRIOV_NET_VF": 2}


def test_limit_of_what_is_not_requested_refuses_nothing() -> None:
    Admission({"instances": 1}, {"VCPU": 0}).check_quota("p", {"VCPU": 7}, 5)


@pytest.mark.parametrize(("count", "is_refused"), [(2, False), (3, True)])
def test_limit_is_inclusive(count: int, is_refused: bool) -> None:
    admission = Admission({"instances": 1, "VCPU": 2}, {"VCPU": 10})
    if is_refused:
        with pytest.raises(errors.QuotaExceeded, match="may use 10 VCPU: 6 in use, 6 more requested"):
            admission.check_quota("p", {"VCPU": 6}, count)
    else:
        admission.check_quota("p", {"VCPU": 6}, count)


def test_negative_limit_is_none() -> None:
    assert AdmissionLimits({"VCPU": 5}, {"p": {"VCPU": -1}}).of_project("p") == {}


@pytest.mark.parametrize(
    ("project", "count", "is_refused"), [("a", 1, True), ("b", 4, False), ("new", 3, False), ("new", 4, True)]
)
def test_project_below_its_share_of_a_full_backlog_may_wait(project: str, count: int, is_refused: bool) -> None:
    waiting = {"a": 9, "b": 1}
    if is_refused:
        with pytest.raises(errors.Overloaded, match="10 instances of at most 10 wait; retry in 4 s"):
            Admission(max_backlog=10).check_backlog(waiting, project, count, 4200)
    else:
        Admission(max_backlog=10).check_backlog(waiting, project, count, 4200)
