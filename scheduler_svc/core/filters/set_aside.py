# SPDX-License-Identifier: Apache-2.0
"""Filter that rejects hosts whose reports made a filter or weigher fail. It cannot be disabled."""

from collections.abc import Iterator

import numpy as np

from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View

NAME = "SetAsideFilter"
REASON = "its report makes a filter fail"


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    passes = np.ones(view.size, np.bool_)
    passes[list(view.rows_set_aside)] = False
    yield HostPredicate(REASON, passes)


FILTER = Filter(NAME, predicates, reasons=(REASON,))
