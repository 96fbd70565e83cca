(* SPDX-License-Identifier: BSD-2-Clause *)
(** The theorems about [Definitions]; their statements are at the end. *)

From Coq Require Import Bool List Lia NArith Strings.Byte ZifyBool.
From Specification Require Import Rows Definitions.
Import ListNotations.
Open Scope N_scope.

Notation range := (byte * byte)%type.

(** * All bytes *)

Definition all_bytes : list byte :=
  flat_map (fun n => match Byte.of_nat n with Some b => [b] | None => [] end) (seq 0 256).

Lemma all_bytes_complete b : In b all_bytes.
Proof.
  assert (found : existsb (Byte.eqb b) all_bytes = true) by (destruct b; reflexivity).
  apply existsb_exists in found. destruct found as [b' [found same]].
  apply Byte.byte_dec_bl in same. now subst.
Qed.

(* Tactics must not compute with these; [vm_compute] does nevertheless. *)
Opaque all_bytes within rows Byte.to_N.

Lemma every_byte f : forallb f all_bytes = true -> forall b, f b = true.
Proof. intros all b. rewrite forallb_forall in all. apply all, all_bytes_complete. Qed.

Lemma byte_of_number n : n <= 255 -> exists b, Byte.to_N b = n.
Proof.
  intros small. destruct (Byte.of_N n) as [b|] eqn:found.
  - exists b. now apply Byte.to_of_N.
  - apply Byte.of_N_None_iff in found. lia.
Qed.

Lemma byte_bound b : Byte.to_N b <= 255.
Proof. apply Byte.to_N_bounded. Qed.

(** * The rows are the encodings: every sequence of each row is tried *)

Fixpoint forall_sequences (choices : list (list byte)) (f : list byte -> bool) : bool :=
  match choices with
  | [] => f []
  | choice :: rest => forallb (fun b => forall_sequences rest (fun units => f (b :: units))) choice
  end.

Definition bytes_in (r : range) : list byte := filter (within r) all_bytes.

Lemma forall_sequences_of ranges f :
  forall_sequences (map bytes_in ranges) f = true -> forall units, matches ranges units = true -> f units = true.
Proof.
  revert f. induction ranges as [|r ranges IH]; intros f all [|b units];
    cbn [map forall_sequences matches] in *; try easy.
  intros [inside rest]%andb_prop. rewrite forallb_forall in all.
  apply (IH (fun units => f (b :: units))); [|exact rest].
  apply all, filter_In. split; [apply all_bytes_complete | exact inside].
Qed.

(** [encode] with the patterns and their limits computed once. *)
Definition limited := Eval vm_compute in map (fun pattern => (2 ^ letters pattern, pattern)) patterns.

Definition encode_fast (c : N) : list byte :=
  match find (fun each => c <? fst each) limited with Some (_, pattern) => bytes (filled pattern c) [] | None => [] end.

Lemma encode_fast_same c : encode_fast c = encode c.
Proof.
  assert (computed : limited = map (fun pattern => (2 ^ letters pattern, pattern)) patterns) by reflexivity.
  unfold encode_fast, encode. rewrite computed. clear computed.
  induction patterns as [|pattern rest IH]; cbn [map find fst]; [reflexivity|].
  now destruct (c <? 2 ^ letters pattern).
Qed.

Opaque encode encode_fast.

Fixpoint same (a b : list byte) : bool :=
  match a, b with
  | [], [] => true
  | x :: a, y :: b => Byte.eqb x y && same a b
  | _, _ => false
  end.

Lemma same_eq a b : same a b = true -> a = b.
Proof.
  revert b. induction a as [|x a IH]; intros [|y b]; cbn; try easy.
  intros [first rest]%andb_prop. apply Byte.byte_dec_bl in first. f_equal; auto.
Qed.

Definition is_scalar (c : N) : bool := (c <=? 0xD7FF) || (0xE000 <=? c) && (c <=? 0x10FFFF).

Definition row_correct (row : N * N * list range) : bool :=
  let '(first, last, ranges) := row in
  forall_sequences (map bytes_in ranges) (fun units =>
    let c := first + index ranges units 0 in is_scalar c && (c <=? last) && same (encode_fast c) units).

Lemma rows_correct : forallb row_correct rows = true.
Proof. vm_cast_no_check (eq_refl true). Qed.

Lemma row_is_encoding row units c :
  In row rows -> row_value row units = Some c -> scalar c /\ encode c = units /\ fst (fst row) <= c <= snd (fst row).
Proof.
  intros inside. pose proof rows_correct as correct. rewrite forallb_forall in correct. specialize (correct row inside).
  destruct row as [[first last] ranges]. cbn in *. destruct (matches ranges units) eqn:match_; [|easy].
  intros [= <-]. pose proof (forall_sequences_of _ _ correct units match_) as checked. cbv beta zeta in checked.
  apply andb_prop in checked. destruct checked as [[valid below]%andb_prop equal].
  apply same_eq in equal. rewrite encode_fast_same in equal. unfold is_scalar in valid. unfold scalar.
  repeat split; [lia | exact equal | lia | lia].
Qed.

(** Every code point of a row is that of a sequence. *)
Definition size (r : range) : N := Byte.to_N (snd r) - Byte.to_N (fst r) + 1.
Definition product (ranges : list range) : N := fold_right (fun r rest => size r * rest) 1 ranges.
Definition not_empty (r : range) : bool := Byte.to_N (fst r) <=? Byte.to_N (snd r).

Lemma index_onto ranges : forallb not_empty ranges = true -> forall i before, i < product ranges ->
  exists units, matches ranges units = true /\ index ranges units before = before * product ranges + i.
Proof.
  induction ranges as [|[first last] ranges IH]; cbn [forallb product fold_right]; intros ordered i before below.
  - exists []. cbn. split; [reflexivity | lia].
  - apply andb_prop in ordered. destruct ordered as [ordered rest]. unfold not_empty in ordered. cbn in ordered.
    fold (product ranges) in *. set (p := product ranges) in *.
    assert (positive : p <> 0) by (intros zero; rewrite zero in below; lia).
    pose proof (N.div_mod i p positive) as division. pose proof (N.mod_lt i p positive) as remainder.
    assert (digit : i / p < size (first, last))
      by (apply N.div_lt_upper_bound; [exact positive | rewrite N.mul_comm; exact below]).
    set (d := i / p) in *. set (m := i mod p) in *. clearbody d m p.
    unfold size in *. cbn [fst snd] in *. pose proof (byte_bound last) as bound.
    destruct (byte_of_number (Byte.to_N first + d)) as [b number]; [lia|].
    destruct (IH rest m (before * (Byte.to_N last - Byte.to_N first + 1) + d) remainder)
      as [units [matched indexed]].
    exists (b :: units). cbn [matches index].
    Transparent within. unfold within. Opaque within. cbn [fst snd]. rewrite number, matched. split.
    + rewrite andb_true_r. apply andb_true_intro. split; apply N.leb_le; lia.
    + replace (Byte.to_N first + d - Byte.to_N first) with d by lia. rewrite indexed, division. ring.
Qed.

Definition complete_row (row : N * N * list range) : bool :=
  let '(first, last, ranges) := row in forallb not_empty ranges && (first + product ranges =? last + 1).

Lemma rows_complete : forallb complete_row rows = true.
Proof. vm_compute. reflexivity. Qed.

Lemma rows_cover c : scalar c -> exists row, In row rows /\ fst (fst row) <= c <= snd (fst row).
Proof.
  intros valid. apply Exists_exists. unfold scalar in valid.
  Transparent rows. unfold rows. Opaque rows.
  repeat rewrite Exists_cons. cbn [fst snd]. lia.
Qed.

Definition in_rows (c : N) (units : list byte) : Prop := exists row, In row rows /\ row_value row units = Some c.

Lemma rows_are_encodings c units : in_rows c units <-> scalar c /\ encode c = units.
Proof.
  split.
  - intros [row [inside found]]. destruct (row_is_encoding row units c inside found) as [valid [equal _]]. easy.
  - intros [valid <-]. destruct (rows_cover c valid) as [row [inside between]].
    pose proof rows_complete as complete. rewrite forallb_forall in complete. specialize (complete row inside).
    destruct row as [[first last] ranges] eqn:name. cbn in complete, between.
    apply andb_prop in complete. destruct complete as [ordered total].
    destruct (index_onto ranges ordered (c - first) 0) as [units [matched indexed]]; [lia|].
    assert (found : row_value row units = Some c).
    { subst row. cbn. rewrite matched, indexed. f_equal. lia. }
    rewrite <- name in inside. destruct (row_is_encoding row units c inside found) as [_ [equal _]].
    exists row. now rewrite equal.
Qed.

(** Of each sequence there is one code point: no two rows have a sequence in common. *)
Fixpoint overlap (a b : list range) : bool :=
  match a, b with
  | [], [] => true
  | x :: a, y :: b => existsb (fun byte => within x byte && within y byte) all_bytes && overlap a b
  | _, _ => false
  end.

Lemma common_overlap a b units : matches a units = true -> matches b units = true -> overlap a b = true.
Proof.
  revert b units. induction a as [|x a IH]; intros [|y b] [|byte units]; cbn [matches overlap]; try easy.
  intros [in_x rest_a]%andb_prop [in_y rest_b]%andb_prop. apply andb_true_intro. split.
  - apply existsb_exists. exists byte. rewrite in_x, in_y. split; [apply all_bytes_complete | reflexivity].
  - eapply IH; eauto.
Qed.

Lemma rows_disjoint : ForallOrdPairs (fun a b => overlap (snd a) (snd b) = false) rows.
Proof.
  Transparent rows. unfold rows. Opaque rows.
  repeat (constructor; [repeat constructor; vm_compute; reflexivity|]). constructor.
Qed.

Lemma one_row a b units :
  In a rows -> In b rows -> matches (snd a) units = true -> matches (snd b) units = true -> a = b.
Proof.
  intros in_a in_b match_a match_b.
  pose proof (common_overlap _ _ _ match_a match_b) as common. pose proof (common_overlap _ _ _ match_b match_a).
  destruct (ForallOrdPairs_In rows_disjoint a b in_a in_b) as [equal | [apart | apart]]; congruence.
Qed.

Lemma row_value_matches row units c : row_value row units = Some c -> matches (snd row) units = true.
Proof. destruct row as [[first last] ranges]. cbn. now destruct (matches ranges units). Qed.

Lemma in_rows_unique a b units : in_rows a units -> in_rows b units -> a = b.
Proof.
  intros [row [inside found]] [row' [inside' found']].
  assert (row = row') by (eapply one_row; eauto using row_value_matches). congruence.
Qed.

Lemma encode_injective a b : scalar a -> scalar b -> encode a = encode b -> a = b.
Proof.
  intros valid_a valid_b equal. apply (in_rows_unique a b (encode a)); apply rows_are_encodings; auto.
Qed.

Lemma value_in_rows units c : value units = Some c -> in_rows c units.
Proof.
  unfold value, in_rows. induction rows as [|row rest IH]; cbn [fold_right In]; [easy|].
  destruct (row_value row units) as [c'|] eqn:found.
  - intros [= <-]. exists row. auto.
  - intros later. destruct (IH later) as [row' [inside found']]. exists row'. auto.
Qed.

Lemma value_of_row row units c : In row rows -> row_value row units = Some c -> value units <> None.
Proof.
  unfold value. induction rows as [|row' rest IH]; cbn [fold_right In]; [easy|].
  intros [<- | inside] found.
  - now rewrite found.
  - destruct (row_value row' units); [easy | auto].
Qed.

Lemma value_encode c : scalar c -> value (encode c) = Some c.
Proof.
  intros valid. assert (present : in_rows c (encode c)) by now apply rows_are_encodings.
  destruct present as [row [inside found]]. pose proof (value_of_row row _ c inside found) as some.
  destruct (value (encode c)) as [c'|] eqn:valued; [|easy]. f_equal.
  apply (in_rows_unique c' c (encode c)); [now apply value_in_rows | now exists row].
Qed.

(** * The automaton on one sequence *)

Lemma run_app state a b :
  run state (a ++ b) =
  match run state a with
  | Open next => run next b
  | Complete => match b with [] => Complete | _ => Reject end
  | Reject => Reject
  end.
Proof.
  revert state. induction a as [|x a IH]; intros state; cbn [run app]; [reflexivity|].
  destruct (step state x) as [[|next]|]; [|apply IH|reflexivity].
  destruct a; cbn [app]; destruct b; reflexivity.
Qed.

Lemma run_start state units : run state units = Open 0 -> units = [] /\ state = O.
Proof.
  revert state. induction units as [|b rest IH]; intros state; cbn [run].
  - now intros [= ->].
  - destruct (step state b) as [[|next]|]; [now destruct rest | | easy].
    intros open. destruct (IH _ open) as [_ wrong]. easy.
Qed.

(** The states are residuals of the rows: of the sequences that begin as read, what remains. *)
Definition residual (tails : list (list range)) (b : byte) : list (list range) :=
  flat_map (fun tail => match tail with r :: rest => if within r b then [rest] else [] | [] => [] end) tails.

Definition accepts (tails : list (list range)) (units : list byte) : bool :=
  existsb (fun tail => matches tail units) tails.

Lemma accepts_residual tails b units : accepts tails (b :: units) = accepts (residual tails b) units.
Proof.
  unfold accepts, residual. induction tails as [|[|r tail] tails IH]; cbn [existsb flat_map matches app]; [easy..|].
  destruct (within r b); cbn [andb orb existsb app]; now rewrite IH.
Qed.

Definition tails_eq (a b : list (list range)) : {a = b} + {a <> b}.
Proof. repeat apply list_eq_dec. decide equality; apply Byte.byte_eq_dec. Defined.

Definition related (known : list (nat * list (list range))) (state : nat) (tails : list (list range)) : bool :=
  existsb (fun each => Nat.eqb (fst each) state && if tails_eq (snd each) tails then true else false) known.

Lemma related_in known state tails : related known state tails = true -> In (state, tails) known.
Proof.
  intros found. apply existsb_exists in found. destruct found as [[state' tails'] [inside equal]].
  cbn [fst snd] in equal.
  apply andb_prop in equal. destruct equal as [equal decided]. apply PeanoNat.Nat.eqb_eq in equal.
  destruct (tails_eq tails' tails) as [same_tails|]; [|discriminate].
  rewrite <- same_tails, <- equal. exact inside.
Qed.

(** The states that are reached, each with a residual, after [depth] bytes. *)
Fixpoint explore (depth : nat) (known : list (nat * list (list range))) : list (nat * list (list range)) :=
  match depth with
  | O => known
  | S depth =>
      let add found b each :=
        match step (fst each) b with
        | Some (S next) =>
            if existsb (fun other => Nat.eqb (fst other) (S next)) found then found
            else (S next, residual (snd each) b) :: found
        | _ => found
        end in
      let add_all found b := fold_left (fun found each => add found b each) known found in
      explore depth (fold_left add_all all_bytes known)
  end.

Definition starts : list (list range) := map snd rows.
Definition known := explore 3 [(O, starts)].

Definition follows (each : nat * list (list range)) (b : byte) : bool :=
  let next := residual (snd each) b in
  match step (fst each) b with
  | None => if tails_eq next [] then true else false
  | Some O => if tails_eq next [[]] then true else false
  | Some state => related known state next
  end.

Definition proper (tails : list (list range)) : bool :=
  negb (accepts tails []) && match tails with [] => false | tail :: _ => accepts tails (map fst tail) end.

Definition consistent (each : nat * list (list range)) : bool := proper (snd each) && forallb (follows each) all_bytes.

Lemma bisimilar : related known 0 starts && forallb consistent known = true.
Proof. vm_cast_no_check (eq_refl true). Qed.

Opaque known tails_eq step value.

Lemma known_start : In (O, starts) known.
Proof. pose proof bisimilar as [start _]%andb_prop. now apply related_in. Qed.

Lemma known_proper state tails : In (state, tails) known -> proper tails = true.
Proof.
  intros inside. pose proof bisimilar as [_ all]%andb_prop. rewrite forallb_forall in all.
  exact (proj1 (andb_prop _ _ (all _ inside))).
Qed.

Lemma known_follows state tails b : In (state, tails) known ->
  match step state b with
  | None => residual tails b = []
  | Some O => residual tails b = [[]]
  | Some next => In (next, residual tails b) known
  end.
Proof.
  intros inside. pose proof bisimilar as [_ all]%andb_prop. rewrite forallb_forall in all.
  destruct (andb_prop _ _ (all _ inside)) as [_ bytes]. pose proof (every_byte _ bytes b) as correct.
  unfold follows in correct. cbn [fst snd] in correct. cbv zeta in correct.
  destruct (step state b) as [[|next]|].
  - destruct (tails_eq (residual tails b) [[]]) as [equal|]; [exact equal | discriminate].
  - now apply related_in.
  - destruct (tails_eq (residual tails b) []) as [equal|]; [exact equal | discriminate].
Qed.

Lemma run_accepts state tails units :
  In (state, tails) known -> (run state units = Complete <-> accepts tails units = true).
Proof.
  revert state tails. induction units as [|b rest IH]; intros state tails inside.
  - pose proof (known_proper _ _ inside) as [no_end _]%andb_prop. cbn [run]. split; [discriminate|].
    intros end_. rewrite end_ in no_end. discriminate.
  - rewrite accepts_residual. cbn [run]. pose proof (known_follows state tails b inside) as next.
    destruct (step state b) as [[|q]|]; [rewrite next | apply IH; exact next | rewrite next; cbn; split; discriminate].
    clear. destruct rest; cbn; easy.
Qed.

Lemma run_known state tails units next :
  In (state, tails) known -> run state units = Open next -> exists after, In (next, after) known.
Proof.
  revert state tails. induction units as [|b rest IH]; intros state tails inside; cbn [run].
  - intros [= <-]. now exists tails.
  - pose proof (known_follows state tails b inside) as follow.
    destruct (step state b) as [[|q]|]; [destruct rest; discriminate | exact (IH _ _ follow) | discriminate].
Qed.

Lemma complete_is_encoding units : run 0 units = Complete <-> exists c, scalar c /\ encode c = units.
Proof.
  rewrite (run_accepts _ _ units known_start). unfold accepts, starts. rewrite existsb_exists. split.
  - intros [ranges [inside matched]]. apply in_map_iff in inside. destruct inside as [row [<- inside]].
    destruct (row_value row units) as [c|] eqn:found.
    + exists c. apply rows_are_encodings. now exists row.
    + destruct row as [[first last] ranges]. cbn in *. now rewrite matched in found.
  - intros [c [row [inside found]]%rows_are_encodings]. exists (snd row). split.
    + apply in_map_iff. now exists row.
    + eauto using row_value_matches.
Qed.

Lemma run_encode c : scalar c -> run 0 (encode c) = Complete.
Proof. intros valid. apply complete_is_encoding. now exists c. Qed.

Lemma open_continues units state : run 0 units = Open state -> exists rest, run 0 (units ++ rest) = Complete.
Proof.
  intros open. destruct (run_known _ _ _ _ known_start open) as [tails inside].
  pose proof (known_proper _ _ inside) as [_ continues]%andb_prop. destruct tails as [|tail tails]; [discriminate|].
  exists (map fst tail). rewrite run_app, open. apply (run_accepts _ _ _ inside). exact continues.
Qed.

Lemma encode_not_empty c : scalar c -> encode c <> [].
Proof. intros valid empty. pose proof (run_encode c valid) as complete. now rewrite empty in complete. Qed.

Lemma prefix_free_lemma a b rest : scalar a -> scalar b -> encode a ++ rest = encode b -> rest = [].
Proof.
  intros valid_a valid_b equal. pose proof (run_encode b valid_b) as complete.
  rewrite <- equal, run_app, (run_encode a valid_a) in complete. now destruct rest.
Qed.

Lemma encode_app a b x y : scalar a -> scalar b -> encode a ++ x = encode b ++ y -> a = b /\ x = y.
Proof.
  intros valid_a valid_b equal. enough (encodings : encode a = encode b).
  { rewrite encodings in equal. apply app_inv_head in equal. split; [now apply encode_injective | exact equal]. }
  destruct (app_eq_app _ _ _ _ equal) as [rest [[first _] | [first _]]].
  - assert (rest = []) by (apply (prefix_free_lemma b a rest); auto). subst. now rewrite app_nil_r in first.
  - assert (rest = []) by (apply (prefix_free_lemma a b rest); auto). subst. now rewrite app_nil_r in first.
Qed.

(** * Texts *)

Lemma well_formed_cons c rest : scalar c -> well_formed rest -> well_formed (encode c ++ rest).
Proof. intros valid [points [all ->]]. exists (c :: points). split; [now constructor | reflexivity]. Qed.

Lemma well_formed_start part : well_formed part -> part <> [] -> exists c rest, scalar c /\ part = encode c ++ rest.
Proof.
  intros [[|c points] [all ->]] some; [easy|]. inversion all; subst. now exists c, (flat_map encode points).
Qed.

Lemma after_complete state units rest : run state units = Complete -> after state (units ++ rest) = after 0 rest.
Proof.
  revert state. induction units as [|b units IH]; intros state; cbn [run app after]; [easy|].
  destruct (step state b) as [[|next]|]; [now destruct units | apply IH | easy].
Qed.

Lemma after_is_well_formed open state text :
  run 0 open = Open state -> after state text = Some O -> well_formed (open ++ text).
Proof.
  revert open state. induction text as [|b rest IH]; intros open state opened; cbn [after].
  - intros [= ->]. destruct (run_start _ _ opened) as [-> _]. now exists [].
  - assert (longer : open ++ b :: rest = (open ++ [b]) ++ rest) by now rewrite <- app_assoc.
    pose proof (run_app 0 open [b]) as fed. rewrite opened in fed. cbn [run] in fed.
    destruct (step state b) as [[|next]|]; [| |easy]; intros ended; rewrite longer.
    + apply complete_is_encoding in fed. destruct fed as [c [valid <-]].
      apply well_formed_cons; [exact valid|]. now apply (IH [] O).
    + now apply (IH (open ++ [b]) (S next)).
Qed.

(** * The items *)

(** An open sequence starts with no encoding. *)
Lemma open_has_no_encoding open state c rest : run 0 open = Open state -> scalar c -> open <> encode c ++ rest.
Proof.
  intros opened valid equal. rewrite equal, run_app, (run_encode c valid) in opened. now destruct rest.
Qed.

Lemma open_is_subpart open state : run 0 open = Open state -> subpart open.
Proof.
  intros opened. left. destruct (open_continues open state opened) as [rest complete]. exists rest.
  apply complete_is_encoding in complete. destruct complete as [c [valid <-]].
  exists [c]. cbn. rewrite app_nil_r. split; [now constructor | reflexivity].
Qed.

(** Where a sequence is open and the next byte does not continue it, no encoding starts, and no longer subpart. *)
Lemma broken_has_no_encoding open state b rest c tail :
  run 0 open = Open state -> step state b = None -> scalar c -> open ++ b :: rest <> encode c ++ tail.
Proof.
  intros opened broken valid equal. destruct (app_eq_app _ _ _ _ equal) as [middle [[first _] | [first second]]].
  - now apply (open_has_no_encoding _ _ c middle opened valid).
  - pose proof (run_encode c valid) as complete. rewrite first, run_app, opened in complete.
    destruct middle as [|b' middle]; cbn [run] in complete; [easy|]. cbn in second. injection second as <- _.
    now rewrite broken in complete.
Qed.

Lemma broken_has_no_subpart open state b rest :
  run 0 open = Open state -> step state b = None -> ~ exists tail, well_formed ((open ++ b :: rest) ++ tail).
Proof.
  intros opened broken [tail formed]. apply well_formed_start in formed; [|now destruct open].
  destruct formed as [c [more [valid equal]]]. rewrite <- app_assoc in equal. cbn in equal.
  now apply (broken_has_no_encoding open state b (rest ++ tail) c more opened broken valid).
Qed.

Lemma prefix_length (part text : list byte) : prefix part text -> (length part <= length text)%nat.
Proof. intros [rest ->]. rewrite app_length. lia. Qed.

(** The end of a text in an open sequence. *)
Lemma open_end open state : run 0 open = Open state -> open <> [] -> unconvertible open /\ maximal_subpart open open.
Proof.
  intros opened some. split; [split; [exact some|] | repeat split].
  - intros part [rest equal] part_some formed. destruct (well_formed_start part formed part_some) as
      [c [more [valid ->]]].
    rewrite <- app_assoc in equal. now apply (open_has_no_encoding open state c (more ++ rest) opened valid).
  - exists []. now rewrite app_nil_r.
  - eauto using open_is_subpart.
  - intros other inside _. now apply prefix_length.
Qed.

(** A byte that does not continue the open sequence; without one, the byte alone is the maximal subpart. *)
Lemma open_broken open state b rest part :
  run 0 open = Open state -> step state b = None -> part = match open with [] => [b] | _ => open end ->
  unconvertible (open ++ b :: rest) /\ maximal_subpart part (open ++ b :: rest).
Proof.
  intros opened broken chosen. split; [split; [now destruct open|] | repeat split].
  - intros other [tail equal] some formed. destruct (well_formed_start other formed some) as [c [more [valid ->]]].
    rewrite <- app_assoc in equal.
    now apply (broken_has_no_encoding open state b rest c (more ++ tail) opened broken valid).
  - subst. destruct open; [now exists rest | now exists (b :: rest)].
  - subst. destruct open; [now right | eauto using open_is_subpart].
  - intros other [tail equal] [[more formed] | one].
    + destruct (app_eq_app _ _ _ _ equal) as [middle [[first _] | [first second]]].
      * subst part. rewrite first. destruct open; [|rewrite <- first; rewrite first, app_length; lia].
        destruct other; cbn; [lia | easy].
      * destruct middle as [|b' middle].
        { rewrite app_nil_r in first. subst. destruct open; cbn; lia. }
        cbn in second. injection second as <- _. exfalso.
        apply (broken_has_no_subpart open state b middle opened broken). exists more. now rewrite <- first.
    + subst part. rewrite one. destruct open; cbn; lia.
Qed.

(** One more byte of a text whose rest is decoded correctly. *)
Definition decodes_rest (rest : list byte) : Prop :=
  forall open state, run 0 open = Open state -> items_of (open ++ rest) (decode_from open state rest).

Definition decodes_byte (open : list byte) (b : byte) (rest : list byte) (fed : list item * list byte * nat) : Prop :=
  let '(items, opened, next) := fed in items_of (open ++ b :: rest) (items ++ decode_from opened next rest).

Lemma completed open state b rest :
  decodes_rest rest -> run 0 open = Open state -> step state b = Some O ->
  items_of (open ++ b :: rest) (complete (open ++ [b]) ++ decode_from [] 0 rest).
Proof.
  intros decodes opened ended. assert (run 0 (open ++ [b]) = Complete) as encoding.
  { rewrite run_app, opened. cbn. now rewrite ended. }
  apply complete_is_encoding in encoding. destruct encoding as [c [valid equal]].
  replace (open ++ b :: rest) with (encode c ++ rest) by (rewrite equal, <- app_assoc; reflexivity).
  unfold complete. rewrite <- equal, (value_encode c valid). cbn. constructor; [exact valid|]. now apply (decodes [] O).
Qed.

Lemma continued open state b rest next :
  decodes_rest rest -> run 0 open = Open state -> step state b = Some (S next) ->
  items_of (open ++ b :: rest) (decode_from (open ++ [b]) (S next) rest).
Proof.
  intros decodes opened stepped. replace (open ++ b :: rest) with ((open ++ [b]) ++ rest) by now rewrite <- app_assoc.
  apply decodes. rewrite run_app, opened. cbn. now rewrite stepped.
Qed.

Lemma begin_decodes b rest : decodes_rest rest -> decodes_byte [] b rest (begin b).
Proof.
  intros decodes. unfold begin, decodes_byte. destruct (step 0 b) as [[|next]|] eqn:stepped.
  - now apply (completed [] O).
  - now apply (continued [] O).
  - destruct (open_broken [] O b rest [b] eq_refl stepped eq_refl) as [no_encoding maximal].
    apply (ill_formed [b]); [exact no_encoding | exact maximal | now apply (decodes [] O)].
Qed.

Lemma feed_decodes open state b rest :
  decodes_rest rest -> run 0 open = Open state -> decodes_byte open b rest (feed open state b).
Proof.
  intros decodes opened. pose proof (begin_decodes b rest decodes) as begun.
  destruct open as [|first others]; [exact begun|]. unfold feed. destruct (step state b) as [[|next]|] eqn:stepped.
  - now apply completed with state.
  - now apply continued with state.
  - destruct (open_broken (first :: others) state b rest _ opened stepped eq_refl) as [no_encoding maximal].
    unfold decodes_byte in *. destruct (begin b) as [[items opened'] next]. now apply (ill_formed (first :: others)).
Qed.

Lemma decodes text : decodes_rest text.
Proof.
  induction text as [|b rest IH]; intros open state opened.
  - rewrite app_nil_r. cbn. destruct open as [|first others] eqn:name; [constructor|]. rewrite <- name in *.
    destruct (open_end open state opened) as [no_encoding maximal]; [now rewrite name|].
    rewrite <- (app_nil_r open) at 1. constructor; [now rewrite app_nil_r.. | constructor].
  - pose proof (feed_decodes open state b rest IH opened) as fed. unfold decodes_byte in fed. cbn [decode_from].
    now destruct (feed open state b) as [[items opened'] next].
Qed.

(** Every text has one list of items. *)
Lemma not_both c rest part tail :
  scalar c -> encode c ++ rest = part ++ tail -> unconvertible (part ++ tail) -> False.
Proof.
  intros valid equal [_ none]. apply (none (encode c)).
  - now exists rest.
  - now apply encode_not_empty.
  - rewrite <- (app_nil_r (encode c)). apply well_formed_cons; [exact valid | now exists []].
Qed.

Lemma same_part (a b x y : list byte) : a ++ x = b ++ y -> length a = length b -> a = b /\ x = y.
Proof.
  revert b. induction a as [|first a IH]; intros [|first' b]; cbn; try easy.
  intros [= <- rest] [= equal]. destruct (IH b rest equal) as [-> ->]. easy.
Qed.

Lemma part_not_empty part rest : unconvertible (part ++ rest) -> maximal_subpart part (part ++ rest) -> part <> [].
Proof.
  intros [some _] [_ [_ longest]] ->. cbn in *. destruct rest as [|b rest]; [easy|].
  specialize (longest [b]). cbn in longest. enough (1 <= 0)%nat by lia.
  apply longest; [now exists rest | now right].
Qed.

Lemma items_unique text a b : items_of text a -> items_of text b -> a = b.
Proof.
  intros first. revert b.
  induction first as [|c rest items valid _ IH|part rest items none maximal _ IH]; intros b second.
  - inversion second as [|c rest items valid _ equal|part rest items none maximal _ equal]; [easy| |].
    + apply app_eq_nil in equal. now destruct (encode_not_empty c valid).
    + apply app_eq_nil in equal. destruct (part_not_empty part rest none maximal). now destruct equal.
  - inversion second as [equal|c' rest' items' valid' others equal|part rest' items' none maximal _ equal].
    + symmetry in equal. apply app_eq_nil in equal. now destruct (encode_not_empty c valid).
    + destruct (encode_app c' c rest' rest valid' valid equal) as [-> ->]. f_equal. now apply IH.
    + symmetry in equal. now destruct (not_both c rest part rest' valid equal).
  - inversion second as [equal|c rest' items' valid others equal|part' rest' items' none' maximal' others equal].
    + symmetry in equal. apply app_eq_nil in equal. destruct (part_not_empty part rest none maximal).
      now destruct equal.
    + now destruct (not_both c rest' part rest valid equal).
    + rewrite equal in maximal'.
      destruct maximal as [inside [is_part longest]], maximal' as [inside' [is_part' longest']].
      pose proof (longest part' inside' is_part'). pose proof (longest' part inside is_part).
      destruct (same_part part' part rest' rest equal) as [-> ->]; [lia|]. f_equal. now apply IH.
Qed.

(** * Theorems *)

(** A sequence has a code point by the rows if and only if it is the encoding of that scalar value (D92). *)
Theorem rows_are_d92 c units :
  (exists row, In row rows /\ row_value row units = Some c) <-> scalar c /\ encode c = units.
Proof. apply rows_are_encodings. Qed.

Theorem code_points_are_within_their_row row units c :
  In row rows -> row_value row units = Some c -> fst (fst row) <= c <= snd (fst row).
Proof. intros inside found. apply (row_is_encoding row units c inside found). Qed.

(** The automaton completes the encodings of scalar values and no other sequence. *)
Theorem automaton_is_d92 units : run 0 units = Complete <-> exists c, scalar c /\ encode c = units.
Proof. apply complete_is_encoding. Qed.

(** The code point of a completed sequence, by the first row that it matches, is the encoded scalar value. *)
Theorem value_is_d92 c units : run 0 units = Complete /\ value units = Some c <-> scalar c /\ encode c = units.
Proof.
  split.
  - intros [[c' [valid <-]]%complete_is_encoding valued]. rewrite (value_encode c' valid) in valued.
    injection valued as <-. easy.
  - intros [valid <-]. auto using run_encode, value_encode.
Qed.

(** The automaton ends in its start state after the well-formed texts and no others (D85). *)
Theorem automaton_accepts_well_formed text : after 0 text = Some O <-> well_formed text.
Proof.
  split; [now apply (after_is_well_formed [] O)|]. intros [points [all ->]].
  induction all as [|c points valid _ IH]; cbn [flat_map]; [reflexivity|].
  now rewrite (after_complete _ _ _ (run_encode c valid)).
Qed.

(** No encoding begins another one. *)
Theorem prefix_free a b : scalar a -> scalar b -> prefix (encode a) (encode b) -> a = b.
Proof.
  intros valid_a valid_b [rest equal]. apply (encode_app a b rest []); auto. now rewrite app_nil_r.
Qed.

(** A text has the encodings of one list of scalar values at most. *)
Theorem uniquely_decodable a b :
  Forall scalar a -> Forall scalar b -> flat_map encode a = flat_map encode b -> a = b.
Proof.
  intros all. revert b. induction all as [|c a valid _ IH]; intros b all' equal; destruct all' as [|c' b valid' all'].
  - reflexivity.
  - symmetry in equal. apply app_eq_nil in equal. now destruct (encode_not_empty c' valid').
  - apply app_eq_nil in equal. now destruct (encode_not_empty c valid).
  - destruct (encode_app c c' _ _ valid valid' equal) as [-> rest]. f_equal. now apply IH.
Qed.

(** The decoder gives the scalar values and the maximal subparts (D93b), which every text has exactly once. *)
Theorem decoder_gives_d93b text items : items_of text items <-> decode text = items.
Proof.
  split; [intros given; apply (items_unique text); [|exact given] | intros <-]; now apply (decodes text [] O).
Qed.

(** In particular: the decoder inverts the encoding of texts. *)
Theorem decoder_inverts_encoding points : Forall scalar points -> decode (flat_map encode points) = map Scalar points.
Proof.
  intros all. apply decoder_gives_d93b. induction all as [|c points valid _ IH]; cbn [flat_map map]; now constructor.
Qed.

(** In particular: at an unconvertible offset its item is the maximal subpart. *)
Theorem first_item_is_maximal_subpart text :
  unconvertible text -> exists part rest, decode text = IllFormed part :: rest /\ maximal_subpart part text.
Proof.
  intros none. pose proof (decodes text [] O eq_refl) as given. cbn in given. fold (decode text) in given.
  inversion given as [equal|c rest items valid _ equal|part rest items _ maximal _ equal].
  - destruct none as [some _]. now destruct some.
  - destruct (not_both c rest [] text valid equal none).
  - exists part, items. split; [reflexivity | exact maximal].
Qed.
