# SPDX-License-Identifier: Apache-2.0
"""Scripts that run in the peers' environments; gantt does not import them."""
