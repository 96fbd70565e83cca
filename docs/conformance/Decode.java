// SPDX-License-Identifier: BSD-2-Clause
// Java: new String(bytes, UTF_8).
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.stream.Collectors;

class Decode {
    public static void main(String[] arguments) throws IOException {
        System.out.println(System.getProperty("java.version"));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            String text = new String(HexFormat.of().parseHex(line), StandardCharsets.UTF_8);
            System.out.println(text.codePoints().mapToObj(Integer::toHexString).collect(Collectors.joining(" ")));
        }
    }
}
