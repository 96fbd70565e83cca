(* SPDX-License-Identifier: BSD-2-Clause *)
(** The definitions of the Unicode Standard, section 3.9, and the meaning of the rows and of the automaton.

    Nothing here is proved. A reader of the theorems has to believe this file, not the proofs. *)

From Coq Require Import Strings.Ascii Strings.Byte String.
From Coq Require Import Bool List NArith.
From Specification Require Import Rows.
Import ListNotations.
Open Scope N_scope.

(** * The standard *)

(** D76: the Unicode scalar values. *)
Definition scalar (c : N) : Prop := c <= 0xD7FF \/ 0xE000 <= c <= 0x10FFFF.

(** Table 3-6: the bits of a scalar value, from the highest to the lowest, take the places of the letters. *)
Definition table_3_6 : list string :=
  [ "0xxxxxxx";
    "110yyyyy 10xxxxxx";
    "1110zzzz 10yyyyyy 10xxxxxx";
    "11110uuu 10uuzzzz 10yyyyyy 10xxxxxx" ]%string.

Inductive place := Fixed (bit : bool) | Letter.

(** The places of a pattern, the last one first, before those in [after]. *)
Fixpoint places (pattern : string) (after : list place) : list place :=
  match pattern with
  | EmptyString => after
  | String " " rest => places rest after
  | String "0" rest => places rest (Fixed false :: after)
  | String "1" rest => places rest (Fixed true :: after)
  | String _ rest => places rest (Letter :: after)
  end.

Definition patterns : list (list place) := map (fun pattern => places pattern []) table_3_6.

Fixpoint letters (pattern : list place) : N :=
  match pattern with
  | [] => 0
  | Fixed _ :: rest => letters rest
  | Letter :: rest => N.succ (letters rest)
  end.

(** The bits of a sequence, the lowest one first. *)
Fixpoint filled (pattern : list place) (c : N) : list bool :=
  match pattern with
  | [] => []
  | Fixed bit :: rest => bit :: filled rest c
  | Letter :: rest => N.odd c :: filled rest (N.div2 c)
  end.

Fixpoint bytes (bits : list bool) (after : list byte) : list byte :=
  match bits with
  | b0 :: b1 :: b2 :: b3 :: b4 :: b5 :: b6 :: b7 :: rest =>
      bytes rest (Byte.of_bits (b0, (b1, (b2, (b3, (b4, (b5, (b6, b7))))))) :: after)
  | _ => after
  end.

(** D92: a scalar value has the encoding of the first pattern, the shortest one, with places for all its bits. *)
Definition encode (c : N) : list byte :=
  match find (fun pattern => c <? 2 ^ letters pattern) patterns with
  | Some pattern => bytes (filled pattern c) []
  | None => []
  end.

(** D85: a well-formed text is a concatenation of the encodings of scalar values. *)
Definition well_formed (text : list byte) : Prop :=
  exists points, Forall scalar points /\ text = flat_map encode points.

Definition prefix (part text : list byte) : Prop := exists rest, text = part ++ rest.

(** D93a: [text], which begins at an unconvertible offset, starts with no well-formed subsequence. *)
Definition unconvertible (text : list byte) : Prop :=
  text <> [] /\ forall part, prefix part text -> part <> [] -> ~ well_formed part.

(** D93b: the longest subsequence at an unconvertible offset that is either the initial subsequence of a well-formed
    sequence or of length one. *)
Definition subpart (part : list byte) : Prop := (exists rest, well_formed (part ++ rest)) \/ length part = 1%nat.

Definition maximal_subpart (part text : list byte) : Prop :=
  prefix part text /\ subpart part /\
  forall other, prefix other text -> subpart other -> (length other <= length part)%nat.

Inductive item := Scalar (c : N) | IllFormed (part : list byte).

(** The items of a text: scalar values, and elsewhere the maximal subparts, for each of which a decoder gives U+FFFD. *)
Inductive items_of : list byte -> list item -> Prop :=
  | nothing : items_of [] []
  | convertible c rest items :
      scalar c -> items_of rest items -> items_of (encode c ++ rest) (Scalar c :: items)
  | ill_formed part rest items :
      unconvertible (part ++ rest) -> maximal_subpart part (part ++ rest) -> items_of rest items ->
      items_of (part ++ rest) (IllFormed part :: items).

(** * The rows: a code point is the first one of its row plus the index of its sequence in lexicographic order *)

Definition within (range : byte * byte) (b : byte) : bool :=
  (Byte.to_N (fst range) <=? Byte.to_N b) && (Byte.to_N b <=? Byte.to_N (snd range)).

Fixpoint matches (ranges : list (byte * byte)) (units : list byte) : bool :=
  match ranges, units with
  | [], [] => true
  | range :: ranges, b :: units => within range b && matches ranges units
  | _, _ => false
  end.

Fixpoint index (ranges : list (byte * byte)) (units : list byte) (before : N) : N :=
  match ranges, units with
  | (first, last) :: ranges, b :: units =>
      let size := Byte.to_N last - Byte.to_N first + 1 in
      index ranges units (before * size + (Byte.to_N b - Byte.to_N first))
  | _, _ => before
  end.

Definition row_value (row : N * N * list (byte * byte)) (units : list byte) : option N :=
  let '(first, last, ranges) := row in
  if matches ranges units then Some (first + index ranges units 0) else None.

(** The code point of a sequence in the first row that it matches. *)
Definition value (units : list byte) : option N :=
  fold_right (fun row later => match row_value row units with None => later | found => found end) None rows.

(** * The automaton: state 0 is the start; [Some 0] completes a sequence, [None] rejects the byte *)

Fixpoint class_of (classes : list (list (byte * byte))) (b : byte) : nat :=
  match classes with
  | [] => O
  | ranges :: rest => if existsb (fun range => within range b) ranges then O else S (class_of rest b)
  end.

Definition step (state : nat) (b : byte) : option nat := nth (class_of classes b) (nth state transitions []) None.

Fixpoint after (state : nat) (text : list byte) : option nat :=
  match text with
  | [] => Some state
  | b :: rest => match step state b with Some next => after next rest | None => None end
  end.

(** One sequence: open in a state, complete with its last byte, or rejected. *)
Inductive outcome := Open (state : nat) | Complete | Reject.

Fixpoint run (state : nat) (units : list byte) : outcome :=
  match units with
  | [] => Open state
  | b :: rest =>
      match step state b with
      | None => Reject
      | Some O => match rest with [] => Complete | _ => Reject end
      | Some next => run next rest
      end
  end.

(** * The golden decoder: the items that one more byte determines, the open sequence, and its state *)

Definition complete (units : list byte) : list item :=
  match value units with Some c => [Scalar c] | None => [] end.

Definition begin (b : byte) : list item * list byte * nat :=
  match step 0 b with
  | None => ([IllFormed [b]], [], O)
  | Some O => (complete [b], [], O)
  | Some next => ([], [b], next)
  end.

Definition feed (open : list byte) (state : nat) (b : byte) : list item * list byte * nat :=
  match open with
  | [] => begin b
  | _ =>
      match step state b with
      | None => let '(items, opened, next) := begin b in (IllFormed open :: items, opened, next)
      | Some O => (complete (open ++ [b]), [], O)
      | Some next => ([], open ++ [b], next)
      end
  end.

Fixpoint decode_from (open : list byte) (state : nat) (text : list byte) : list item :=
  match text with
  | [] => match open with [] => [] | _ => [IllFormed open] end
  | b :: rest => let '(items, opened, next) := feed open state b in items ++ decode_from opened next rest
  end.

Definition decode : list byte -> list item := decode_from [] 0.
