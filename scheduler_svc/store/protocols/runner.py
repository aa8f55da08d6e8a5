# SPDX-License-Identifier: Apache-2.0
"""Execution of verbs, which the protocols share."""

import abc
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from rpcapi.bounds import StoreBounds

P = ParamSpec("P")
T = TypeVar("T")


class VerbRunner(Protocol):
    """A store of one partition, which runs the functions of scheduler_svc.store.verbs on it, or scripts like them."""

    partition: str
    bounds: StoreBounds
    _decision_bytes: int  # bound of the decision record

    @abc.abstractmethod
    def _run(self, verb: Callable[Concatenate[Any, int, P], T], /, *arguments: P.args, **options: P.kwargs) -> T:
        """Return what a verb returns that may change the partition; it gets the partition's own time in ms too.

        Raises StoreUnavailable, as `_read` does.
        """

    @abc.abstractmethod
    def _read(self, verb: Callable[Concatenate[Any, P], T], /, *arguments: P.args, **options: P.kwargs) -> T:
        """Return what a verb reads."""
