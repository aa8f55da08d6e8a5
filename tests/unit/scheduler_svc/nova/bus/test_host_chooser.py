# SPDX-License-Identifier: Apache-2.0
"""Choice between hosts with dedicated CPUs and the fallback to shared ones."""

from types import SimpleNamespace
from typing import Any

import pytest

from rpcapi import errors
from rpcapi.resources import transient
from scheduler_svc.nova.bus.host_chooser import HostChooser

FULL = errors.NoValidHost(reason="9 not enough PCPU", reasons={"not enough PCPU": 9})
CHANGED = errors.NoValidHost(reason="1 changed meanwhile", reasons={transient.CHANGED_MEANWHILE: 1})
JUST_DOWN = errors.NoValidHost(reason="1 just down", reasons={transient.JUST_DOWN: 1})


class Chooser(HostChooser):
    """Chooser whose claims of dedicated CPUs are refused, and of shared ones succeed."""

    def __init__(self, refusal: errors.NoValidHost) -> None:
        self._refusal = refusal
        self._options = SimpleNamespace(falls_back=True)  # type: ignore[assignment]

    def _claim(self, ctxt: Any, request: Any, spec: Any, uuids: Any, alternates: int) -> Any:
        if spec == "dedicated":
            raise self._refusal
        return [spec]


def choose(refusal: errors.NoValidHost) -> Any:
    request = SimpleNamespace(is_rebuild=False, spec="dedicated", fallback="shared")
    return Chooser(refusal)._select(None, request, ["vm"], 0)  # type: ignore[arg-type]


def test_final_refusal_of_dedicated_cpus_falls_back_to_shared_ones() -> None:
    assert choose(FULL) == ["shared"]


@pytest.mark.parametrize("refusal", [CHANGED, JUST_DOWN])
def test_refusal_that_may_pass_is_raised_without_fallback(refusal: errors.NoValidHost) -> None:
    with pytest.raises(errors.NoValidHost) as raised:
        choose(refusal)
    assert raised.value is refusal
