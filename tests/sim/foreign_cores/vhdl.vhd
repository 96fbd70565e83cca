-- SPDX-License-Identifier: BSD-2-Clause
-- A correct validator: after the last byte of a text one output, which states whether the text is ill-formed.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity vhdl is
  port (
    clk, rst, valid, last : in std_logic;
    data : in unsigned(7 downto 0);
    done, wrong : out std_logic
  );
end entity;

architecture rtl of vhdl is
  signal left : natural range 0 to 3;
  signal low, high : unsigned(7 downto 0);
  signal bad : std_logic;
begin
  process (clk)
    variable fault : std_logic;
    variable rest : natural range 0 to 3;
  begin
    if rising_edge(clk) then
      done <= valid and last;
      fault := bad;
      rest := 0;
      if left /= 0 then
        rest := left - 1;
        if data < low or data > high then fault := '1'; end if;
      elsif data >= x"C2" and data <= x"DF" then rest := 1;
      elsif data >= x"E0" and data <= x"EF" then rest := 2;
      elsif data >= x"F0" and data <= x"F4" then rest := 3;
      elsif data >= x"80" then fault := '1';
      end if;
      wrong <= fault;
      if rest /= 0 then wrong <= '1'; end if;
      if valid = '1' then
        low <= x"80";
        high <= x"BF";
        if data = x"E0" then low <= x"A0"; elsif data = x"F0" then low <= x"90"; end if;
        if data = x"ED" then high <= x"9F"; elsif data = x"F4" then high <= x"8F"; end if;
        left <= rest;
        bad <= fault;
      end if;
      if rst = '1' or (valid = '1' and last = '1') then
        left <= 0;
        bad <= '0';
      end if;
    end if;
  end process;
end architecture;
