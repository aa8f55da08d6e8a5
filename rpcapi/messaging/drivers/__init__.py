# SPDX-License-Identifier: Apache-2.0
"""oslo.messaging drivers: the embedded bus on Redis, and RabbitMQ with a separate reply exchange."""
