# SPDX-License-Identifier: Apache-2.0
"""Programs that run in Nova's own virtual environment."""
