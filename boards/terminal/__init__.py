# SPDX-License-Identifier: BSD-2-Clause
"""A Unicode terminal: UTF-8 from a UART, the glyphs of GNU Unifont from an SPI flash, a video signal."""
