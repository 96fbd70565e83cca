<?php // SPDX-License-Identifier: BSD-2-Clause
// PHP: mb_scrub with U+FFFD.
mb_substitute_character(0xFFFD);
echo PHP_VERSION, "\n";
while (($line = fgets(STDIN)) !== false) {
    $characters = mb_str_split(mb_scrub(hex2bin(trim($line)), "UTF-8"), 1, "UTF-8");
    echo implode(" ", array_map(fn ($c) => dechex(mb_ord($c, "UTF-8")), $characters)), "\n";
}
