# SPDX-License-Identifier: BSD-2-Clause
# Perl: Encode::decode with the name of the encoding, UTF-8 or utf8.
use Encode;
print "$Encode::VERSION\n";
while (<STDIN>) { chomp; print join(" ", map { sprintf "%x", ord } split //, decode($ARGV[0], pack("H*", $_))), "\n" }
