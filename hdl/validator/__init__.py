# SPDX-License-Identifier: BSD-2-Clause
"""The validator: one report per packet of a stream, beside it."""
