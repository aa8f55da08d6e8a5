# SPDX-License-Identifier: Apache-2.0
"""Scripts that run in the peers' own environments; gantt does not import them."""
