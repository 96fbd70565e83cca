# SPDX-License-Identifier: BSD-2-Clause
# Ruby: String#scrub.
puts RUBY_VERSION
$stdin.each_line { |line| puts [line.chomp].pack("H*").force_encoding("UTF-8").scrub.codepoints.map { |c| c.to_s(16) }.join(" ") }
