# SPDX-License-Identifier: Apache-2.0
"""Tests of defects that were found: each failed before its fix."""

import pytest

ACTS = ("forgotten_claim_acts", "forgotten_group_acts", "forgotten_operator_acts", "forgotten_record_acts")
pytest.register_assert_rewrite(*(f"{__name__}.{module}" for module in ACTS))
