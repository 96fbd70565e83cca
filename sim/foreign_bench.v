// SPDX-License-Identifier: BSD-2-Clause
// Test bench for $name: prints "PASS" if its output for this input is the expected one, else "FAIL: ..." with the reason.
// Defect:   $defect
// Input:    $input
// Expected: $expected
// Given:    $given
//
// With Icarus: iverilog -g2005 -s $bench -o bench.vvp $files && vvp -N bench.vvp
// For a waveform add +vcd to the second command.
// A failure ends with $$stop: the exit status is not 0 with vvp -N and with Verilator; with vvp -n it is 0.

module $bench;
  reg clk = 1'b0;
  always #5 clk = ~clk;

  wire passed, failed;
  $check check (.clk(clk), .passed(passed), .failed(failed));

  initial
    if ($$test$$plusargs("vcd")) begin
      $$dumpfile("$bench.vcd");
      $$dumpvars;
    end

  always @(posedge clk)
    if (failed) begin
      $$stop;
      $$finish;
    end else if (passed) begin
      $$display("PASS");
      $$finish;
    end
endmodule

// The driver of the input and the check of the output, synchronous to clk.
module $check (
  input wire clk,
  output reg passed,
  output reg failed
);
  localparam LANES = $lanes;  // bytes per beat
  localparam WORDS = $words;  // words per output beat: 32 bits, and above them whether it is a mark
  localparam BEATS = $beat_count, EXPECTED = $expected_count, TEXTS = $text_count;
  localparam RESETS = 1'b$resets;  // whether a text ends with a reset only
  localparam VALIDATOR = 1'b$validator;  // whether only the marks count: one expected word per verdict
  localparam HAS_LAST = 1'b$has_last;  // whether the output has an end of each text
  localparam WAITS = 1'b$handshake;  // whether the input begins when the core is ready
  localparam QUIET = 100;  // cycles without an output after which the output has ended
  localparam PATIENCE = $patience;  // cycles without a transfer at the input, or until the output has ended
  localparam [$last_in_pause:0] IN_PAUSES = $in_pauses;  // bit k of each: a pause in cycle k, repeated
  localparam [$last_out_pause:0] OUT_PAUSES = $out_pauses;

  reg [9*LANES:0] beats [0:BEATS-1];  // last, keep and bytes of each
  reg [32:0] expected [0:EXPECTED];
  integer ends [0:TEXTS-1];  // for each text the number of expected words up to its end
  initial begin
$contents
    passed = 1'b0;
    failed = 1'b0;
  end

  reg [2:0] reset = 3'd0;  // cycles of the reset
  reg running = 1'b0, offered = 1'b0, waiting = 1'b0, bad = 1'b0, wrong;
  reg [33*WORDS+WORDS:0] held = 0;
  integer sent = 0, texts_sent = 0, received = 0, ended = 0, idle = 0, quiet = 0, in_cycle = 0, out_cycle = 0, lane;

  // Between texts that a reset separates, the next beat waits for the end of the output.
  reg separate = 1'b0;
  wire rst = reset < 3'd4;
  wire upcoming = running && sent < BEATS && !separate;
  wire [9*LANES:0] beat = upcoming ? beats[sent] : 0;
  wire in_valid = upcoming && (offered || !IN_PAUSES[in_cycle]);
  wire in_ready;
  wire out_ready = !running || !OUT_PAUSES[out_cycle];
  wire [33*WORDS-1:0] out_words;
  wire [WORDS-1:0] out_keep;
  wire out_last, out_valid;
  wire violation;

  $adapter adapter (
    .clk(clk), .rst(rst),
    .in_bytes(beat[8*LANES-1:0]), .in_keep(beat[9*LANES-1:8*LANES]), .in_last(beat[9*LANES]),
    .in_valid(in_valid), .in_ready(in_ready),
    .out_words(out_words), .out_keep(out_keep), .out_last(out_last), .out_valid(out_valid), .out_ready(out_ready),
    .violation(violation)
  );

  always @(posedge clk) begin
    wrong = 1'b0;
    if (rst) reset <= reset + 3'd1;
    else if (!running) running <= !WAITS || in_ready;
    else if (!passed && !failed) begin
      // The input.
      idle = idle + 1;
      offered <= in_valid && !in_ready;
      if (in_valid && in_ready) begin
        sent <= sent + 1;
        idle = 0;
        quiet = 0;
        if (beat[9*LANES]) begin
          texts_sent = texts_sent + 1;
          separate <= RESETS && texts_sent < TEXTS;
        end
      end else if (upcoming && !in_valid) idle = 0;

      // The output, of which a beat does not change while it waits.
      if ((^{in_ready, out_valid}) === 1'bx) begin
        wrong = 1'b1;
        $$display("FAIL: the core is ready %b, its output valid %b", in_ready, out_valid);
      end else if (violation) begin
        wrong = 1'b1;
        $$display("FAIL: $partial");
      end else if (waiting && (!out_valid || held !== {out_words, out_keep, out_last})) begin
        wrong = 1'b1;
        $$display("FAIL: the output changed or was withdrawn before its transfer");
      end else if (out_valid && out_ready) begin
        for (lane = 0; lane < WORDS; lane = lane + 1)
          if (out_keep[lane]) begin
            if (VALIDATOR) bad = bad | out_words[33*lane+32];
            else begin
              if (!wrong && (received >= EXPECTED || out_words[33*lane +: 33] !== expected[received])) begin
                wrong = 1'b1;
                $$display("FAIL: word %0d is %h, expected %h", received, out_words[33*lane +: 33], expected[received]);
              end
              received = received + 1;
            end
          end
        if (HAS_LAST && out_last) begin
          if (VALIDATOR) begin
            if (received >= EXPECTED || bad !== expected[received][0]) begin
              wrong = 1'b1;
              $$display("FAIL: verdict %0d is %b", received, bad);
            end
            received = received + 1;
            bad = 1'b0;
          end
          if (!wrong && (ended >= TEXTS || received != ends[ended])) begin
            wrong = 1'b1;
            $$display("FAIL: end %0d after %0d words", ended, received);
          end
          ended = ended + 1;
        end
      end
      held <= {out_words, out_keep, out_last};
      waiting <= out_valid && !out_ready;
      quiet = out_valid || upcoming ? 0 : quiet + 1;

      // The end of the output.
      if (wrong) failed <= 1'b1;
      else if (idle > PATIENCE) begin
        failed <= 1'b1;
        if (upcoming) $$display("FAIL: the input was not accepted for %0d cycles", PATIENCE);
        else $$display("FAIL: the output does not end");
      end else if (quiet > QUIET && separate) begin
        {reset, running, separate} <= 0;
        idle = 0;
      end else if (quiet > QUIET) begin
        if (VALIDATOR && !HAS_LAST) begin
          if (bad !== expected[0][0]) wrong = 1'b1;
        end else if (received != EXPECTED || (HAS_LAST && ended != TEXTS)) wrong = 1'b1;
        passed <= !wrong;
        failed <= wrong;
        if (wrong) $$display("FAIL: the output ended after %0d words and %0d ends, expected %0d and %0d", received, ended,
                             EXPECTED, HAS_LAST ? TEXTS : 0);
      end

      in_cycle = in_cycle == $last_in_pause ? 0 : in_cycle + 1;
      out_cycle = out_cycle == $last_out_pause ? 0 : out_cycle + 1;
    end
  end
endmodule

// The core, with a handshake on both sides.
