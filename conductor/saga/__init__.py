# SPDX-License-Identifier: Apache-2.0
"""What is done for a request, step by step, by whoever holds its lease."""
