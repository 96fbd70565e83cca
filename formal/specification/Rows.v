(* SPDX-License-Identifier: BSD-2-Clause *)
(** The Unicode Standard, section 3.9, D92 and Table 3-7, and the automaton that the model derives from it.

    Written by "python formal/specification/check.py --record". *)

From Coq Require Import List NArith Strings.Byte.
Import ListNotations.
Open Scope N_scope.

(** First and last code point, and the ranges of the bytes. *)
Definition rows : list (N * N * list (byte * byte)) :=
  [ (0x0000, 0x007F, [(x00, x7f)]);
    (0x0080, 0x07FF, [(xc2, xdf); (x80, xbf)]);
    (0x0800, 0x0FFF, [(xe0, xe0); (xa0, xbf); (x80, xbf)]);
    (0x1000, 0xCFFF, [(xe1, xec); (x80, xbf); (x80, xbf)]);
    (0xD000, 0xD7FF, [(xed, xed); (x80, x9f); (x80, xbf)]);
    (0xE000, 0xFFFF, [(xee, xef); (x80, xbf); (x80, xbf)]);
    (0x10000, 0x3FFFF, [(xf0, xf0); (x90, xbf); (x80, xbf); (x80, xbf)]);
    (0x40000, 0xFFFFF, [(xf1, xf3); (x80, xbf); (x80, xbf); (x80, xbf)]);
    (0x100000, 0x10FFFF, [(xf4, xf4); (x80, x8f); (x80, xbf); (x80, xbf)]) ].

(** The byte classes. *)
Definition classes : list (list (byte * byte)) :=
  [ [(x00, x7f)];
    [(x80, x8f)];
    [(x90, x9f)];
    [(xa0, xbf)];
    [(xc0, xc1); (xf5, xff)];
    [(xc2, xdf)];
    [(xe0, xe0)];
    [(xe1, xec); (xee, xef)];
    [(xed, xed)];
    [(xf0, xf0)];
    [(xf1, xf3)];
    [(xf4, xf4)] ].

(** For each state the next state by byte class. *)
Definition transitions : list (list (option nat)) :=
  [ [Some 0%nat; None; None; None; None; Some 1%nat; Some 4%nat; Some 3%nat; Some 2%nat; Some 7%nat; Some 6%nat; Some 5%nat];
    [None; Some 0%nat; Some 0%nat; Some 0%nat; None; None; None; None; None; None; None; None];
    [None; Some 1%nat; Some 1%nat; None; None; None; None; None; None; None; None; None];
    [None; Some 1%nat; Some 1%nat; Some 1%nat; None; None; None; None; None; None; None; None];
    [None; None; None; Some 1%nat; None; None; None; None; None; None; None; None];
    [None; Some 3%nat; None; None; None; None; None; None; None; None; None; None];
    [None; Some 3%nat; Some 3%nat; Some 3%nat; None; None; None; None; None; None; None; None];
    [None; None; Some 3%nat; Some 3%nat; None; None; None; None; None; None; None; None] ].
