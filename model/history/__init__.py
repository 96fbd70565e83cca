# SPDX-License-Identifier: BSD-2-Clause
"""The rules of older documents, and how they differ from Table 3-7."""
