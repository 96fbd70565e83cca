// SPDX-License-Identifier: BSD-2-Clause
// Rust: String::from_utf8_lossy.
fn main() {
    println!("{}", std::env::args().nth(1).unwrap());
    for line in std::io::stdin().lines().map(Result::unwrap) {
        let byte = |i| u8::from_str_radix(&line[i..i + 2], 16).unwrap();
        let bytes: Vec<u8> = (0..line.len()).step_by(2).map(byte).collect();
        let text: Vec<String> = String::from_utf8_lossy(&bytes).chars().map(|c| format!("{:x}", c as u32)).collect();
        println!("{}", text.join(" "));
    }
}
