# SPDX-License-Identifier: Apache-2.0
"""Comparison of whole answers to a query for allocation candidates, exact also where Placement loses some.

In Placement 16.0.0 the candidates of the group without a suffix are a set over all roots, and equal without regard to
their root. Those that only sharing providers serve are therefore combined with the other groups of one root, and lost
at the others. Where that shows, Placement is asked again for each root, which is chosen by a trait of its own.
"""

import collections
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from tests.differential.placement_clouds import Query, requests_of, summaries_of
from tests.differential.placement_pair import PlacementPair
from tests.differential.placement_writes import Question
from tests.support.scheduler.placement import LATEST

NESTED_SINCE, MAPPINGS_SINCE = 29, 34
SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"
ROOT_TRAIT = "CUSTOM_ROOT_"
Answer = tuple[list[str], dict[str, Any]]  # allocation requests and provider summaries


class CandidatesComparison:
    """Compares answers, and counts how each was compared."""

    def __init__(self, pair: PlacementPair, tally: collections.Counter[str]) -> None:
        self._pair = pair
        self._tally = tally

    def compare(self, query: Query) -> None:
        """Put a query to both, and compare the answers; raises AssertionError."""
        question = question_of(query)
        expected, own = self._pair.ask(question)
        if expected.status == 500 and self._sharing(children=True):
            self._tally["Placement failed: a child shares"] += 1
            assert own.status == 200, (query, own)
            return
        assert own[:2] == expected[:2], (query, expected, own)
        self._tally[f"candidates: status {own.status}"] += 1
        if own.status != 200:
            assert own == expected, query
            return
        if query.limit is None:
            all_expected, all_own = (answer_of(json.dumps(answer.document)) for answer in (expected, own))
        else:
            unlimited = replace(question, path=path_of(query, limit=False))
            all_expected, all_own = (answer_of(ask(unlimited)) for ask in (self._placement_text, self._own_text))
        if all_own == all_expected:
            self._tally["candidates: equal"] += 1
        else:
            assert not collections.Counter(all_expected[0]) - collections.Counter(all_own[0]), query
            self._compare_roots(query, all_own, all_expected)
        self._tally["candidates: some"] += bool(all_own[0])
        self._tally["candidates: number"] += len(all_own[0])
        if query.limit is not None:
            self._compare_limited(query, answer_of(json.dumps(own.document)), all_own)

    def _compare_limited(self, query: Query, own: Answer, all_own: Answer) -> None:
        requests, summaries = own
        self._tally["candidates: limited"] += len(requests) < len(all_own[0])
        assert len(requests) == min(query.limit or 0, len(all_own[0])), query
        assert not collections.Counter(requests) - collections.Counter(all_own[0]), query
        assert summaries.items() <= all_own[1].items(), query

    def _compare_roots(self, query: Query, own: Answer, expected: Answer) -> None:
        """Compare the candidates with those that Placement has for each root alone, if it can tell them."""
        assert query.is_mixed, query
        minor = int(query.version.partition(".")[2])
        requests: set[str] = set()
        summaries: dict[str, Any] = {}
        roots = {name: provider["root_provider_uuid"] for name, provider in self._providers().items()}
        for root in self._marked_roots():
            question = Question("candidates", "GET", path_of(query, root=root), LATEST)
            ((status, _, text),) = self._pair.ask_placement([question])
            if status == 500 and self._sharing(children=True):
                self._tally["candidates: equal but for those of sharing providers"] += 1
                self._check_surplus(query, own, expected)
                return
            assert status == 200, (question, text)
            for request in json.loads(text)["allocation_requests"]:
                used_roots = [roots[name] for name in request["allocations"]]
                # Before this microversion no candidate has two providers of one tree.
                if minor >= NESTED_SINCE or len(used_roots) == len(set(used_roots)):
                    requests.add(_in_version(request, minor))
            summaries |= summaries_of(text)
        self._tally["candidates: equal root by root"] += 1
        assert set(own[0]) == requests, query
        if minor >= NESTED_SINCE:
            assert own[1] == _without_root_traits(summaries), query
        else:
            assert own[1].keys() == {name for text in requests for name in json.loads(text)["allocations"]}, query

    def _marked_roots(self) -> Iterator[str]:
        """Yield the trait of each root, after it was given to the root in both."""
        for uuid, provider in self._providers().items():
            if provider["parent_provider_uuid"] is None:
                trait, path = ROOT_TRAIT + uuid.replace("-", "").upper(), f"/resource_providers/{uuid}/traits"
                body = self._pair.api.call("GET", path).json
                if trait not in body["traits"]:
                    body["traits"].append(trait)
                    self._pair.change(Question("mark", "PUT", f"/traits/{trait}", LATEST))
                    self._pair.change(Question("mark", "PUT", path, LATEST, body))
                yield trait

    def _check_surplus(self, query: Query, own: Answer, expected: Answer) -> None:
        """Check that only sharing providers serve the group without a suffix in candidates that Placement lacks."""
        sharing = self._sharing()
        if int(query.version.partition(".")[2]) >= MAPPINGS_SINCE:
            for request in map(json.loads, collections.Counter(own[0]) - collections.Counter(expected[0])):
                assert set(request["mappings"][""]) <= sharing, (query, request)

    def _sharing(self, *, children: bool = False) -> set[str]:
        """Return the providers that share, or only those of them that are below another one."""
        query = f"/resource_providers?required={SHARING_TRAIT}"
        providers = self._pair.api.call("GET", query).json["resource_providers"]
        return {entry["uuid"] for entry in providers if entry["parent_provider_uuid"] or not children}

    def _providers(self) -> dict[str, Any]:
        providers = self._pair.api.call("GET", "/resource_providers").json["resource_providers"]
        return {provider["uuid"]: provider for provider in providers}

    def _placement_text(self, question: Question) -> str:
        ((status, _, text),) = self._pair.ask_placement([question])
        assert status == 200, (question, text)
        return text

    def _own_text(self, question: Question) -> str:
        answer = self._pair.api.call(question.method, question.path, version=question.version)
        assert answer.status == 200, (question, answer)
        return answer.body.decode()


def question_of(query: Query) -> Question:
    """Return the request of a query."""
    return Question("candidates", "GET", path_of(query), query.version)


def path_of(query: Query, *, limit: bool = True, root: str | None = None) -> str:
    """Return the path with a query's parameters, without its limit, or only for the root that has this trait."""
    pairs = parse_qsl(query.text)
    if not limit or root is not None:
        pairs = [(name, text) for name, text in pairs if name != "limit"]
    if root is not None:
        required = [root, *(text for name, text in pairs if name == "root_required")]
        pairs = [(name, text) for name, text in pairs if name != "root_required"]
        pairs.append(("root_required", ",".join(required)))
    return f"/allocation_candidates?{urlencode(pairs)}"


def answer_of(text: str) -> Answer:
    """Return an answer without an order, and without the traits that roots have for the comparison."""
    return requests_of(text), _without_root_traits(summaries_of(text))


def _in_version(request: dict[str, Any], minor: int) -> str:
    """Return a candidate as requests_of does, in the form of a microversion."""
    body = request if minor >= MAPPINGS_SINCE else {"allocations": request["allocations"]}
    return requests_of(json.dumps({"allocation_requests": [body]}))[0]


def _without_root_traits(summaries: dict[str, Any]) -> dict[str, Any]:
    return {
        name: summary | {"traits": [trait for trait in summary["traits"] if not trait.startswith(ROOT_TRAIT)]}
        if "traits" in summary
        else summary
        for name, summary in summaries.items()
    }
