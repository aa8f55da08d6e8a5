# SPDX-License-Identifier: Apache-2.0
"""Model objects that the request handlers read and change."""

from dataclasses import dataclass

from scheduler_svc.placement.http.candidate_documents import CandidateDocuments
from scheduler_svc.placement.model.candidates.finder import CandidateFinder
from scheduler_svc.placement.model.catalogue import Catalogue
from scheduler_svc.placement.model.consumers import Consumers
from scheduler_svc.placement.model.directory import ProviderDirectory
from scheduler_svc.placement.model.freshness import Freshness
from scheduler_svc.store.interface import Store


@dataclass(frozen=True, slots=True)
class PlacementModel:
    """Model of one partition. ``unknown_owner``: (project, user) of consumers from microversions before 1.8."""

    store: Store
    freshness: Freshness
    directory: ProviderDirectory
    catalogue: Catalogue
    consumers: Consumers
    finder: CandidateFinder
    documents: CandidateDocuments
    unknown_owner: tuple[str, str]
