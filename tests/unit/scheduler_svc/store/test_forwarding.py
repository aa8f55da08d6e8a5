# SPDX-License-Identifier: Apache-2.0
"""The forwarding store passes every verb on."""

import inspect
from typing import Any
from unittest import mock

import pytest

from scheduler_svc.store.forwarding import ForwardingStore
from scheduler_svc.store.interface import Store

VERBS = sorted({*Store.__abstractmethods__, "prepare_all"})


@pytest.mark.parametrize("verb", VERBS)
def test_verb_is_passed_on_with_its_arguments_and_answer(verb: str) -> None:
    target = mock.create_autospec(Store, instance=True, partition="p")
    arguments: list[Any] = []
    options: dict[str, Any] = {}
    for parameter in list(inspect.signature(getattr(Store, verb)).parameters.values())[1:]:
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            options[parameter.name] = object()
        else:
            arguments.append(object())
    getattr(target, verb).return_value = answer = object()
    if inspect.signature(getattr(Store, verb)).return_annotation is None:
        answer = None
    assert getattr(ForwardingStore(target), verb)(*arguments, **options) is answer
    assert target.mock_calls == [getattr(mock.call, verb)(*arguments, **options)]


def test_store_without_one_of_the_verbs_is_not_instantiable() -> None:
    incomplete: Any = type("IncompleteStore", (ForwardingStore,), {"prepare": Store.prepare})
    with pytest.raises(TypeError, match="prepare"):
        incomplete(mock.create_autospec(Store, instance=True, partition="p"))
