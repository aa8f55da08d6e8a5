# SPDX-License-Identifier: Apache-2.0
"""The migrations, one per file, in the order of their numbers."""
