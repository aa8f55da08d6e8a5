# SPDX-License-Identifier: Apache-2.0
"""Reports of a check of claims."""

import pytest

from rpcapi import objects


@pytest.mark.parametrize(("problems", "excess", "clean"), [([], [], True), (["x"], [], False), ([], [{}], False)])
def test_report_is_clean_without_problems_and_excess(problems, excess, clean):
    report = objects.VerifyReport.of(
        partition="p", epoch=1, position=1, claims={}, providers=0, problems=problems, excess=excess
    )
    assert report.clean is clean
