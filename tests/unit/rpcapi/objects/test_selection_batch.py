# SPDX-License-Identifier: Apache-2.0
"""Answers to a batch of requests."""

from rpcapi import objects


def test_refused_request_has_no_selections():
    fields = {"partition": "p", "attempt": 1, "deadline_ms": 1, "epoch": 1, "position": 1}
    served = [objects.Selections.build([host], [[]], **fields) for host in ("a", "b")]
    answers = objects.SelectionAnswers.of(
        selections=served, served=[1, None, 0], codes=[None, "no_valid_host", None], reasons=["", "full", ""]
    )
    assert [answers.selections_of(index) for index in range(3)] == [served[1], None, served[0]]
