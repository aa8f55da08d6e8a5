# SPDX-License-Identifier: Apache-2.0
"""gantt reads from the primitives of Nova's RequestSpecs what Nova asks Placement for."""

import uuid

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rpcapi import errors
from rpcapi.objects.request_schema import check_spec
from scheduler_svc.nova.bus import request_spec
from tests.differential import asking, test_nova_requests
from tests.support.nova import queries

pytestmark = [pytest.mark.differential, pytest.mark.timeout(3600)]

EXAMPLES = 2000
UUIDS = [str(uuid.UUID(int=number)) for number in range(1, 6)]
TRAITS = ["CUSTOM_A", "CUSTOM_B", "HW_NIC_SRIOV"]

# Refused by gantt only: part of the error text -> reason.
OURS = {
    **test_nova_requests.OURS,
    "cannot be combined with resources:VCPU": "a policy beside explicit CPUs, which Nova's API refuses",
    "needs pinned cpus": "a setting of pinned CPUs without any, which Nova's API refuses",
    "hw:cpu_dedicated_mask": "a mask that does not fit, which Nova's API refuses",
    "needs exactly one of": "a mixed policy without a mask, which Nova's API refuses",
    "hw:cpu_realtime_mask": "a mask that does not fit, which Nova's API refuses",
    "cannot be combined with hw:cpu_thread_policy": "a trait beside the policy, which Nova's API refuses",
    "the number of cpus to pin": "another number of pinned CPUs, which Nova's API refuses",
    "does not allow this image value": "an image that contradicts the flavor, which Nova's API refuses",
    "'resources' needs": "a request without resources",
}

flavors = st.fixed_dictionaries(
    {
        "vcpus": st.sampled_from([1, 4]),
        "memory_mb": st.just(4096),
        "root_gb": st.sampled_from([0, 10]),
        "ephemeral_gb": st.sampled_from([0, 3]),
        "swap": st.sampled_from([0, 1, 1024, 1025]),
        "extra_specs": test_nova_requests.choose(test_nova_requests.VALUES | test_nova_requests.OTHERS, 4),
    }
)
names = st.lists(st.sampled_from(TRAITS), max_size=2, unique=True)
groups = st.lists(
    st.fixed_dictionaries(
        {
            "requester_id": st.sampled_from(UUIDS),
            "use_same_provider": st.just(True),
            "resources": st.dictionaries(
                st.sampled_from(["CUSTOM_NIC", "VGPU", "DISK_GB"]), st.integers(1, 9), min_size=1
            ),
            "required_traits": names,
        },
        optional={
            "in_tree": st.sampled_from(UUIDS),
            "aggregates": st.lists(st.lists(st.sampled_from(UUIDS), min_size=1, max_size=2), max_size=2),
        },
    ),
    max_size=3,
    unique_by=lambda group: group["requester_id"],
)
params = st.fixed_dictionaries({"root_required": names})
specs = st.fixed_dictionaries(
    {
        "flavor": flavors,
        "properties": test_nova_requests.choose(test_nova_requests.PROPERTIES, 2),
        "groups": groups,
        "params": params,
        "is_bfv": st.booleans(),
    }
)


@pytest.fixture(scope="module")
def nova():
    with asking.running("nova_specs_side.py") as peer:
        yield peer


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(fields=specs)
def test_query_of_a_primitive_equals_novas(nova, tally, fields):
    answer = nova.ask("ask", fields=fields)
    try:
        request = request_spec.translate(answer["primitive"])
        check_spec(request.spec)
    except errors.InvalidRequest as error:
        if "refused" in answer:
            tally["refused by both"] += 1
            return
        reasons = [reason for part, reason in OURS.items() if part in error.sentence]
        assert reasons, error.sentence
        tally[f"refused by gantt: {reasons[0]}"] += 1
        return
    if "refused" in answer:
        tally[f"refused by nova: {answer['refused'].partition(':')[0]}"] += 1
        return
    tally["equal"] += 1
    assert queries.of_spec(request.spec) == queries.of_nova(answer["pinned"])
    assert queries.of_spec(request.fallback or request.spec) == queries.of_nova(
        answer["shared"] if request.fallback else answer["pinned"]
    )


@pytest.mark.parametrize("case", queries.RECORDED)
def test_recorded_queries_are_those_of_this_nova(nova, case):
    recorded = queries.RECORDED[case]
    answer = nova.ask("ask", fields=recorded["fields"])
    assert (answer["pinned"], answer["shared"]) == (recorded["pinned"], recorded["shared"])
