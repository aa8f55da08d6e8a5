# SPDX-License-Identifier: Apache-2.0
"""What the handlers of requests read and change."""

from dataclasses import dataclass

from scheduler_svc.endpoints.placement.candidate_documents import CandidateDocuments
from scheduler_svc.placement.candidates.finder import CandidateFinder
from scheduler_svc.placement.catalogue import Catalogue
from scheduler_svc.placement.consumers import Consumers
from scheduler_svc.placement.directory import ProviderDirectory
from scheduler_svc.placement.freshness import Freshness
from scheduler_svc.store.interface import Store


@dataclass(frozen=True, slots=True)
class PlacementModel:
    """The providers of one partition, and what is held from them.

    ``unknown_owner`` is the (project, user) of consumers before microversion 1.8, which names neither.
    """

    store: Store
    freshness: Freshness
    directory: ProviderDirectory
    catalogue: Catalogue
    consumers: Consumers
    finder: CandidateFinder
    documents: CandidateDocuments
    unknown_owner: tuple[str, str]
