# SPDX-License-Identifier: Apache-2.0
"""Answers which instances have a host, for those who end claims that no instance uses."""

from sqlalchemy.exc import SQLAlchemyError

from scheduler_svc import databases
from scheduler_svc.nova_bridge import signals
from scheduler_svc.nova_bridge.cells import CellReaders, CellUnread
from scheduler_svc.store.protocols.host_state import HostStateStore


class InstanceAnswers:
    """Answers the questions in one store from the databases of all cells."""

    def __init__(self, store: HostStateStore, cells: CellReaders) -> None:
        self._store = store
        self._cells = cells

    def answer_question(self) -> None:
        """Answer a question if there is one; raises StoreUnavailable."""
        question = signals.open_question(self._store)
        if question is not None:
            signals.give_answer(self._store, self._answer(question))

    def _answer(self, question: signals.Question) -> signals.Answer:
        """Return the answer; it is an error where a cell is not read: its instances would seem to have no host."""
        try:
            return signals.Answer(question.number, frozenset(self._cells.on_hosts(question.instances)), None)
        except CellUnread as error:
            why = f"cells that were not read: {error}"
        except SQLAlchemyError as error:
            why = databases.first_line(error)
        return signals.Answer(question.number, frozenset(), why)
