# SPDX-License-Identifier: Apache-2.0
"""Hosts and requests that exercise every filter."""

import numpy as np

from devstack.lab import default_driver, full_hosts
from scheduler_svc.core.filtering import pipeline


def test_requests_are_the_same_for_the_same_seed_and_some_have_hints():
    requests = full_hosts.make_requests(200)
    assert requests == full_hosts.make_requests(200)
    hinted = [request for request in requests if "query" in request.hints]
    assert 10 < len(hinted) < 45  # one in eight


def test_filters_have_work_and_leave_hosts():
    driver = default_driver.all_filters()
    table = full_hosts.table(400, driver.reads)
    assert len(table.names) == 400
    request = full_hosts.make_requests(1)[0]
    with table.reading() as view:
        passes = pipeline.run(default_driver.filters(), view, request).passes
    assert 0 < np.count_nonzero(passes) <= 400
