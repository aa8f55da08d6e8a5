# SPDX-License-Identifier: Apache-2.0
"""Execution of verbs, common to all protocols."""

import abc
from collections.abc import Callable, Collection
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from rpcapi.bounds import StoreBounds
from scheduler_svc.store.certainty import RepeatCounter
from scheduler_svc.store.external_states import ExternalStates
from scheduler_svc.store.records import StoreOptions

P = ParamSpec("P")
T = TypeVar("T")


class VerbRunner(Protocol):
    """Store of one partition that runs functions of scheduler_svc.store.verbs, or equivalent scripts."""

    partition: str
    bounds: StoreBounds
    options: StoreOptions
    external: ExternalStates | None
    repeats: RepeatCounter
    _declared: Collection[str]  # declared namespaces; built-in ones are not among them

    @abc.abstractmethod
    def _run(self, verb: Callable[Concatenate[Any, int, P], T], /, *arguments: P.args, **options: P.kwargs) -> T:
        """Run a verb that may change the partition; the verb gets partition time in ms. Raises StoreUnavailable."""

    @abc.abstractmethod
    def _read(self, verb: Callable[Concatenate[Any, P], T], /, *arguments: P.args, **options: P.kwargs) -> T:
        """Run a verb that only reads."""
