# SPDX-License-Identifier: Apache-2.0
"""Execution of verbs, common to all protocols."""

import abc
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from rpcapi.bounds import StoreBounds

P = ParamSpec("P")
T = TypeVar("T")


class VerbRunner(Protocol):
    """Store of one partition that runs the functions of scheduler_svc.store.verbs, or equivalent scripts."""

    partition: str
    bounds: StoreBounds
    _decision_bytes: int  # size limit of the decision record

    @abc.abstractmethod
    def _run(self, verb: Callable[Concatenate[Any, int, P], T], /, *arguments: P.args, **options: P.kwargs) -> T:
        """Run a verb that may change the partition, given partition time in ms. Raises StoreUnavailable."""

    @abc.abstractmethod
    def _read(self, verb: Callable[Concatenate[Any, P], T], /, *arguments: P.args, **options: P.kwargs) -> T:
        """Run a verb that only reads."""
