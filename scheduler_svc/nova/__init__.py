# SPDX-License-Identifier: Apache-2.0
"""What Nova sends to a scheduler and expects from it, without any code of Nova."""
