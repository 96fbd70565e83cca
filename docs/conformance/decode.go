// SPDX-License-Identifier: BSD-2-Clause
// Go: the runes of a string.
package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"runtime"
	"strings"
)

func main() {
	fmt.Println(strings.TrimPrefix(runtime.Version(), "go"))
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		data, _ := hex.DecodeString(lines.Text())
		fmt.Println(strings.Trim(fmt.Sprintf("%x", []rune(string(data))), "[]"))
	}
}
