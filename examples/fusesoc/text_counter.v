// SPDX-License-Identifier: BSD-2-Clause
// Counts the characters of a text, and its errors: one per maximal subpart. The counts are valid with `done`.

module text_counter (
  input wire clk,
  input wire rst,
  input wire [7:0] data,
  input wire last,
  input wire valid,
  output wire ready,
  output reg [15:0] characters,
  output reg [15:0] errors,
  output reg done
);
  wire [31:0] word;
  wire [3:0] word_keep;
  wire word_error, word_last, word_valid;

  text_decoder decoder (
    .clk(clk),
    .rst(rst),
    .s_axis_tdata(data),
    .s_axis_tkeep(1'b1),
    .s_axis_tlast(last),
    .s_axis_tvalid(valid),
    .s_axis_tready(ready),
    .m_axis_tdata(word),
    .m_axis_tkeep(word_keep),
    .m_axis_tuser(word_error),
    .m_axis_tlast(word_last),
    .m_axis_tvalid(word_valid),
    .m_axis_tready(1'b1)
  );

  wire unused = &{1'b0, word, word_keep[3:1]};

  always @(posedge clk)
    if (rst) begin
      characters <= 16'd0;
      errors <= 16'd0;
      done <= 1'b0;
    end else if (word_valid) begin
      characters <= characters + {15'd0, word_keep[0]};
      errors <= errors + {15'd0, word_error};
      done <= word_last;
    end
endmodule
