# SPDX-License-Identifier: Apache-2.0
"""Answers which instances have a host, for those who end claims that no instance uses."""

from sqlalchemy.exc import SQLAlchemyError

from scheduler_svc import databases
from scheduler_svc.nova_bridge import signals
from scheduler_svc.nova_bridge.cells import CellReaders, CellUnread
from scheduler_svc.store.protocols.host_state import HostStateStore


def answer_question(store: HostStateStore, cells: CellReaders) -> None:
    """Answer a question in a store, if there is one, from the databases of all cells; raises StoreUnavailable."""
    question = signals.open_question(store)
    if question is not None:
        signals.give_answer(store, _answer(cells, question))


def _answer(cells: CellReaders, question: signals.Question) -> signals.Answer:
    """Return the answer; it is an error where a cell is not read: its instances would seem to have no host."""
    try:
        return signals.Answer(question.number, frozenset(cells.on_hosts(question.instances)), None)
    except CellUnread as error:
        why = f"cells that were not read: {error}"
    except SQLAlchemyError as error:
        why = databases.first_line(error)
    return signals.Answer(question.number, frozenset(), why)
