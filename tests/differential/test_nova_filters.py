# SPDX-License-Identifier: Apache-2.0
"""Nova's filters and gantt's have the same survivors for random hosts and requests.

Intended differences (docs/differences.md) are excluded or counts separately.
"""

import json

import pytest
from hypothesis import HealthCheck, given, settings

from tests.differential import asking
from tests.support.clouds import clouds
from tests.support.clouds.filter_oracles import ISOLATED_HOSTS, ISOLATED_IMAGES, ORACLES
from tests.support.clouds.filtering import passing

pytestmark = [pytest.mark.differential, pytest.mark.timeout(3600)]

EXAMPLES = 2000
# Errors of Nova's filters: for invalid numbers, empty lists of alternatives, and cpu_info as text.
ERRORS = {
    "AggregateInstanceExtraSpecsFilter": ("ValueError", "IndexError"),
    "ComputeCapabilitiesFilter": ("ValueError", "IndexError"),
    "ImagePropertiesFilter": ("AttributeError",),
}
EXCLUDED = {"capabilities:cpu_info"}  # a text in Nova, an object in gantt


@pytest.fixture(scope="module")
def nova():
    with asking.running("nova_filters_side.py") as peer:
        filter_names = peer.ask("prepare", isolated_images=list(ISOLATED_IMAGES), isolated_hosts=list(ISOLATED_HOSTS))
        assert set(ORACLES) <= set(filter_names)
        yield peer


def compare(nova, tally, names, cloud, request_fields):
    nova_results = nova.ask("ask", cloud=cloud, request=request_fields, names=list(names))
    survivors = passing(names, cloud, request_fields)
    for name in names:
        for host, passes in nova_results[name].items():
            tally[name] += 1
            if isinstance(passes, str):  # in Nova an error of the whole request, in gantt a rejection of the host
                tally[f"{name}: {passes.partition(':')[0]}"] += 1
                assert passes.partition(":")[0] in ERRORS.get(name, ()), (name, host, passes)
                assert name != "ComputeCapabilitiesFilter" or host not in survivors[name]
            else:
                tally[f"{name}: passes"] += passes
                assert (host in survivors[name]) is passes, (name, host)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(cloud=clouds.clouds(), request_fields=clouds.requests)
def test_filters_have_the_same_survivors_as_nova(nova, tally, cloud, request_fields):
    for spec in EXCLUDED & request_fields["extra_specs"].keys():
        del request_fields["extra_specs"][spec]
    compare(nova, tally, ORACLES.keys() - {"JsonFilter"}, cloud, request_fields)


def is_comparable(query):
    """Return whether Nova and gantt agree on the meaning of a query.

    In Nova an address equals no text, and an inverted term within a query is always true.
    """
    return "$host_ip" not in json.dumps(query) and not any("not" in json.dumps(part) for part in query[1:])


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(cloud=clouds.clouds(), query=clouds.queries.filter(is_comparable))
def test_query_has_the_same_survivors_as_nova(nova, tally, cloud, query):
    compare(nova, tally, ["JsonFilter"], cloud, clouds.query_request(query))
