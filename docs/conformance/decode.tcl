# SPDX-License-Identifier: BSD-2-Clause
# Tcl: encoding convertfrom.
puts [info patchlevel]
while {[gets stdin line] >= 0} {
    puts [lmap c [split [encoding convertfrom utf-8 [binary format H* $line]] {}] {format %x [scan $c %c]}]
}
