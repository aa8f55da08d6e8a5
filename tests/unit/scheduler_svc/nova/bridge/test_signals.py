# SPDX-License-Identifier: Apache-2.0
"""Questions which instances have a host, and their answers."""

from functools import partial

import pytest

from scheduler_svc.nova.bridge import signals
from tests.support.nova.nova_databases import uuid_for

NAMES = ("built", "building", "deleted", "elsewhere", "unknown")
INSTANCES = [uuid_for(name) for name in NAMES]


@pytest.fixture
def answers(bench):
    cell1, cell2 = bench.nova.cells["cell1"], bench.nova.cells["cell2"]
    cell1.add_instance("built", "h1")
    cell1.add_instance("building", None)
    cell1.add_instance("deleted", "h1", deleted=3)
    cell2.add_instance("elsewhere", "h9")
    return partial(signals.answer_question, bench.store, bench.bridge._cells.on_hosts)


def ask(bench, answers):
    """Ask, and return the answer."""
    number = signals.ask(bench.store, INSTANCES)
    answers()
    answer = signals.answer(bench.store)
    assert answer.number == number
    return answer


def test_instances_of_all_cells_with_a_host_are_named(bench, answers):
    bench.run()
    answer = ask(bench, answers)
    assert (answer.on_hosts, answer.error) == ({uuid_for("built"), uuid_for("elsewhere")}, None)


def test_there_is_no_answer_while_a_cell_cannot_be_read(bench, answers):
    assert "unread cells: all" in ask(bench, answers).error
    bench.run()
    bench.nova.hide("cell2")
    answer = ask(bench, answers)
    assert answer.error
    assert not answer.on_hosts
    bench.run()
    assert uuid_for("cell2") in ask(bench, answers).error
    bench.nova.show("cell2")
    bench.run()
    assert ask(bench, answers).error is None


def test_removed_cell_whose_database_could_not_be_opened_is_forgotten(bench, answers):
    bench.nova.add_cell("lost")
    bench.nova.paths["lost"].unlink()
    bench.run()
    assert uuid_for("lost") in ask(bench, answers).error
    bench.nova.remove_cell("lost")
    bench.run()
    answer = ask(bench, answers)
    assert (answer.on_hosts, answer.error) == ({uuid_for("built"), uuid_for("elsewhere")}, None)


def test_question_is_answered_once_and_by_the_next_bridge_too(bench, answers):
    answers()
    assert signals.answer(bench.store) is None
    bench.run()
    signals.ask(bench.store, INSTANCES)
    signals.answer_question(bench.store, bench.bridge._cells.on_hosts)
    stored = bench.store.get_state(signals.NAMESPACE, signals.ANSWER)
    answers()
    assert bench.store.get_state(signals.NAMESPACE, signals.ANSWER) == stored
    assert ask(bench, answers).on_hosts
