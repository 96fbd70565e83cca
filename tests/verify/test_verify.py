# SPDX-License-Identifier: BSD-2-Clause
"""Certificates: `prove` leaves them, `utf8fpga-verify` accepts them, and rejects what is forged."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from pysat.formula import CNF
from pysat.solvers import Cadical195
from support.command import utf8fpga

from utf8fpga.formal import certificates as certificates_module
from utf8fpga.formal import runner
from utf8fpga.formal.abc import invariant
from utf8fpga.formal.catalogue import CONFIGURATIONS, Configuration
from utf8fpga.formal.certificates import certify
from utf8fpga.formal.report import Result
from utf8fpga.hdl import CoreParameters, DecoderParameters, EncoderParameters, axi_verilog
from utf8fpga.model.forms import RFC_2279
from utf8fpga.verify import main as verifier

PROGRAM = Path(verifier.__file__)
SOLVER = sys.executable
"""Stands for `solved`, see `in_this_process`."""
ALL = ("equivalence", "steady", "stall", "latency")


@cache
def certificates() -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for wanted in ALL:
        found |= certify(CONFIGURATIONS["serial-0"], wanted, seconds=120).files
    return found


def solved(clauses: Path) -> int:
    """What a SAT solver ends with."""
    with Cadical195(bootstrap_with=CNF(from_file=str(clauses)).clauses) as solver:
        return 10 if solver.solve() else 20


read_again, run_program = cache(verifier.read_again), verifier.Solver._run


class Macros(dict[str, int]):
    """Those of one Verilog, by which alone circuits are kept."""

    def __hash__(self) -> int:
        return 0


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read each Verilog once, and solve without a program; `test_programs_of_others_decide_the_questions` has those."""

    def run(command: str, clauses: Path, proof: Path) -> subprocess.CompletedProcess[str]:
        if command == f"{SOLVER} %s":
            return subprocess.CompletedProcess(command, solved(clauses), "", "")
        return run_program(command, clauses, proof)

    monkeypatch.setattr(verifier.Solver, "_run", staticmethod(run))
    monkeypatch.setattr(verifier, "read_again", lambda text, macros, yosys: read_again(text, Macros(macros), yosys))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "serial-0"
    found.mkdir()
    for name, content in certificates().items():
        (found / name).write_bytes(content)
    return found


def changed(path: Path, change: Callable[[str], str]) -> None:
    before = path.read_text(encoding="utf-8")
    after = change(before)
    assert after != before
    path.write_text(after, encoding="utf-8")


def verified(folder: Path, *options: str, solver: str = SOLVER) -> tuple[int, str]:
    with redirect_stdout(StringIO()) as printed:
        status = verifier.main([str(folder), "--solver", solver, *options])
    return status, printed.getvalue()


def rejected(folder: Path, *options: str) -> list[str]:
    status, printed = verified(folder, *options)
    found = re.findall(r"  (\S+) +\S+ s  REJECTED: (.*)", printed)
    assert status == bool(found)
    return [f"{wanted}: {reason}" for wanted, reason in found]


def test_the_certificates_of_the_serial_decoder_are_accepted(folder: Path) -> None:
    status, printed = verified(folder)
    assert status == 0
    assert "is that of core.v: 162 registers; lanes 1, latency 1, stall 0" in printed
    assert re.findall(r"  (\S+) +\S+ s  holds", printed) == ["independence", *ALL]


@pytest.mark.parametrize("solver", ["minisat %s", "cadical -q %s", "picosat %s"])
def test_programs_of_others_decide_the_questions(folder: Path, solver: str) -> None:
    if not shutil.which(solver.split()[0]):
        pytest.skip(f"{solver.split()[0]} is not installed")
    assert verified(folder, solver=solver)[0] == 0


def test_a_missing_invariant_is_no_certificate(folder: Path) -> None:
    (folder / "steady.inv").unlink()
    status, printed = verified(folder)
    assert status == 0
    assert re.search(r"steady +\S+ s  no certificate", printed)


@pytest.mark.parametrize(
    ("invariant", "reason"),
    [
        # An output beat is transferred in an instant: none ever waits in the slot.
        ("!dut.core.occupied\n", "does not hold after a reset|is not inductive"),
        ("dut.core.occupied\n", "does not hold at power-up"),
        # The word of the end of a packet is 0, from power-up on; but a reset does not change the watched word.
        ("!word[22] !word[0]\n", "does not hold after a reset"),
        # Only that no sequence is open at the start: true there, and not for long.
        ("!missing[0]\n!missing[1]\n", "is not inductive"),
        ("", "does not imply the property"),
        ("!dut.core.something\n", "has no register !dut.core.something"),
    ],
)
def test_a_forged_invariant_is_rejected(folder: Path, invariant: str, reason: str) -> None:
    (folder / "equivalence.inv").write_text(invariant, encoding="utf-8")
    (found,) = rejected(folder)
    assert found.startswith("equivalence: ")
    assert re.search(reason, found)


def test_an_invariant_that_cannot_be_read_is_rejected(folder: Path) -> None:
    (folder / "steady.inv").write_bytes(b"\xff")
    (folder / "stall.inv").unlink()
    (folder / "stall.inv").mkdir()
    found = rejected(folder)
    assert [each.partition(":")[0] for each in found] == ["steady", "stall"]


def test_an_invariant_without_the_clauses_of_an_open_sequence_is_rejected(folder: Path) -> None:
    lines = (folder / "equivalence.inv").read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if "dut.core.remaining" not in line]
    assert len(kept) < len(lines)
    (folder / "equivalence.inv").write_text("".join(kept), encoding="utf-8")
    (found,) = rejected(folder)
    assert re.fullmatch("equivalence: the invariant (is not inductive|does not imply the property)", found)


def test_an_invariant_that_is_false_at_the_start_is_rejected_for_any_property(folder: Path) -> None:
    for wanted in ALL:
        (folder / f"{wanted}.inv").write_text("waits\n!waits\n", encoding="utf-8")
    found = rejected(folder)
    assert found == [f"{wanted}: the invariant does not hold at power-up" for wanted in ALL]


def with_output(circuit: str, name: str, literal: int) -> str:
    """A circuit in which an output is another literal."""
    lines = circuit.splitlines()
    _, inputs, latches, *_ = (int(word) for word in lines[0].split()[1:])
    number = int(re.findall(rf"^o(\d+) {name}$", circuit, re.MULTILINE)[0])
    lines[1 + inputs + latches + number] = f"{literal}"
    return "\n".join(lines)


def test_a_weakened_property_is_rejected(folder: Path) -> None:
    changed(folder / "circuit.aag", lambda text: with_output(text, "bad_equivalence", 0))
    (folder / "equivalence.inv").write_text("", encoding="utf-8")
    assert rejected(folder) == ["circuit: the circuit is not that of the Verilog"]


WRONG = {
    "a byte of a lead is allowed": ("~|input_symbols[5:1]", "~|input_symbols[5:2]"),
    "the slot is kept too long": ("(output_ready & ~remaining[0])", "(output_ready & remaining[0])"),
    "a reset does not empty the slot": ("      occupied <= 1'b0;", "      occupied <= occupied;"),
    "another initial value": ("    occupied = 1'b0;", "    occupied = 1'b1;"),
}


@pytest.mark.proof
@pytest.mark.parametrize("change", WRONG.values(), ids=list(WRONG))
def test_the_circuit_of_other_verilog_is_rejected(folder: Path, change: tuple[str, str]) -> None:
    changed(folder / "core.v", lambda text: text.replace(*change))
    (found,) = rejected(folder)
    assert re.fullmatch("circuit: the (initial values of the )?circuit (is|are) not (that|those) of the Verilog", found)


@pytest.mark.proof
@pytest.mark.parametrize("change", list(WRONG.values())[:3], ids=list(WRONG)[:3])
def test_wrong_verilog_with_its_own_circuit_has_no_invariant(
    folder: Path, monkeypatch: pytest.MonkeyPatch, change: tuple[str, str]
) -> None:
    changed(folder / "core.v", lambda text: text.replace(*change))
    second: list[str] = []
    read = verifier.Circuit.read
    read_again.cache_clear()  # So that the last circuit that is read is that of the Verilog.
    monkeypatch.setattr(verifier.Circuit, "read", lambda text: second.append(text) or read(text))
    rejected(folder)
    (folder / "circuit.aag").write_text(second[-1], encoding="utf-8")
    found = rejected(folder)
    assert any(each.startswith("equivalence: the invariant ") for each in found)


def test_a_gate_more_or_less_is_rejected(folder: Path) -> None:
    lines = (folder / "circuit.aag").read_text(encoding="utf-8").splitlines()
    total, inputs, latches, outputs, _ = (int(word) for word in lines[0].split()[1:])
    place = 1 + inputs + latches + outputs
    gate, left, right = lines[place].split()
    lines[place] = f"{gate} {int(left) ^ 1} {right}"
    (folder / "circuit.aag").write_text("\n".join(lines), encoding="utf-8")
    assert rejected(folder) == ["circuit: the circuit is not that of the Verilog"]
    lines[place] = f"{gate} {2 * total} {right}"
    (folder / "circuit.aag").write_text("\n".join(lines), encoding="utf-8")
    (found,) = rejected(folder)
    assert "depends on later ones" in found


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("wire input_keep = s_axis_tkeep;", "wire input_keep;"), "core.v cannot be read"),
        (("occupied <= 1'b0;", "occupied <= 1'bx;"), "core.v has an undefined digit"),
        (("(posedge clk)", "(negedge clk)"), "Assertion failed"),
        (("(posedge clk)", "(posedge rst)"), "Assertion failed"),
        (("(posedge clk)", "(posedge clk or posedge rst)"), "core.v cannot be read"),
        (("occupied <= 1'b0;", "occupied <= 1'sBZ;"), "core.v has an undefined digit"),
        (("occupied <= 1'b0;", "occupied <= 1'b x;"), "core.v has an undefined digit"),
        (("occupied <= 1'b0;", "occupied <= 'x;"), "core.v has an undefined digit"),
        (("occupied <= 1'b0;", "occupied <= 1'b1 / 1'b0;"), "the circuit is not that of the Verilog"),
        (("wire is_trail =", "\n`ifdef LANES\n`endif\nwire is_trail ="), "core.v has a directive"),
        (("wire is_trail =", "\n// synthesis translate_off\nwire is_trail ="), "core.v has a comment that some"),
        (("  reg occupied;", "  (* init = 1'b0 *) reg occupied;"), "core.v has an attribute"),
        (("wire is_trail =", "wire seen = statement.watching; wire is_trail ="), "core.v has a name in another module"),
        (("wire [7:0] s_axis_tdata", "wire [15:0] s_axis_tdata"), "the ports of core.v are not those"),
        (("only while", "for at most 256 cycles in a row while"), "more cycles than the statement counts"),
        (("Latency: at most 1 cycle", "Latency: at most 256 cycles"), "more cycles than the statement counts"),
        (("// Latency: at most", "// Latency: perhaps"), "no header that promises"),
        (("Latency: at most 1 cycle", "Latency: at most 2 cycle"), "circuit: "),
    ],
)
def test_verilog_that_is_not_defined_or_promises_something_else_is_rejected(
    folder: Path, change: tuple[str, str], reason: str
) -> None:
    changed(folder / "core.v", lambda text: text.replace(*change))
    (found,) = rejected(folder)
    assert found.startswith("circuit: ")
    assert reason in found


SWALLOWS = """
  reg [3:0] count = 4'd0;
  assign s_axis_tready = s_axis_tkeep & ~s_axis_tlast & ~s_axis_tdata[7] & (~m_axis_tready | count == 4'd0);
  assign {m_axis_tvalid, m_axis_tdata, m_axis_tkeep, m_axis_tuser, m_axis_tlast} = {count != 4'd0, 32'd0, 6'b111100};
  always @(posedge clk) begin
    count <= count + (s_axis_tready & s_axis_tvalid) - (m_axis_tvalid & m_axis_tready);
    if (rst) count <= 4'd0;
  end
endmodule
"""
"""A decoder that loses sixteen characters while the consumer waits, as many as the statement counts."""


def test_the_latency_of_events_that_are_lost_has_no_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    core = SimpleNamespace(parameters=SimpleNamespace(lanes=1), latency=16, stall_cycles=0)
    good = certificates()["core.v"].decode()
    ports = re.split(r"(?<=^\);\n)", good, maxsplit=1, flags=re.MULTILINE)[0]
    monkeypatch.setattr(certificates_module, "axi_verilog", lambda _: ports + SWALLOWS)
    circuit = certificates_module._Circuit.of(core)
    assert invariant(circuit.started("bad_latency"), 0, seconds=60) is None


def test_an_invariant_of_an_unknown_property_is_rejected(folder: Path) -> None:
    (folder / "power-up.inv").write_text("", encoding="utf-8")
    assert rejected(folder) == ["power-up: the statement has no such property"]


def test_a_solver_that_does_not_answer_and_a_proof_that_is_none_are_rejected(folder: Path) -> None:
    status, printed = verified(folder, solver=f"{sys.executable} -c 'raise SystemExit(0)'")
    assert status == 1
    assert "the solver did not answer, with status 0" in printed
    accepts, denies = (f"{sys.executable} -c 'print(\"s {verdict}\")'" for verdict in ("VERIFIED", "NOT VERIFIED"))
    assert rejected(folder, "--drat", accepts) == []
    fails = accepts.replace("print", "raise SystemExit(print").replace(")'", ") or 1)'")
    for checker in (denies, fails):
        assert rejected(folder, "--drat", checker) == ["circuit: the solver's proof is not one: circuit"]


SMALL = "aag 3 2 1 2 0\n2\n4\n6 2 0\n4\n6\ni0 ready\ni1 offer\nl0 r\no0 valid\no1 beat[3]\n"
"""A circuit whose outputs are an input and a register with the value that `ready` had."""


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("6 2 0", "6 2 1", "the initial values of the circuit are"),
        ("6 2 0", "6 2 6", "the initial values of the circuit are"),
        ("6 2 0", "6 3 0", "the circuit is"),
        ("4\n6\ni0", "4\n7\ni0", "the circuit is"),
        ("l0 r", "l0 s", "the registers of the circuit are"),
        ("aag 3 2 1 2 0\n2\n4\n6 2 0", "aag 4 2 2 2 0\n2\n4\n6 2 0\n8 2 0", "the registers of the circuit are"),
        ("i1 offer", "i1 offered", "the ports of the circuit are"),
        ("o1 beat[3]", "o1 beat[4]", "the ports of the circuit are"),
    ],
)
def test_another_circuit_is_rejected(old: str, new: str, reason: str, tmp_path: Path) -> None:
    one, other = (verifier.Circuit.read(text) for text in (SMALL, SMALL.replace(old, new)))
    graph, solver = verifier.Graph(), verifier.Solver(SOLVER, "", tmp_path)
    inputs = {name: graph.free() for name in one.inputs}
    verifier.check_same(graph, one, one, inputs, solver)
    with pytest.raises(verifier.RejectedError, match=f"^{reason} not (that|those) of the Verilog$"):
        verifier.check_same(graph, one, other, inputs, solver)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("aag", "aig", "is not ASCII AIGER without constraints"),
        ("1 2 0", "1 2 0 1", "is not ASCII AIGER without constraints"),
        ("6 2 0", "4 2 0", "variable 2 of the circuit is defined twice"),
        ("i1 offer", "i1 ready", "an input of the circuit has no name of its own"),
        ("6 2 0", "6 2 2", "a latch of the circuit has no valid initial value"),
        ("6 2 0", "6 9 0", "a variable has no definition"),
        ("4\n6\ni0", "4\n8\ni0", "a variable has no definition"),
    ],
)
def test_what_is_no_circuit_is_rejected(old: str, new: str, reason: str) -> None:
    with pytest.raises(verifier.RejectedError, match=reason):
        verifier.Circuit.read(SMALL.replace(old, new, 1))


@pytest.mark.parametrize("name", ["serial-2", "parallel-1-pipeline-0", "parallel-4"])
def test_the_promised_numbers_are_those_of_the_core(name: str) -> None:
    core = CONFIGURATIONS[name].build()
    numbers = {"LANES": core.lanes, "LATENCY": core.latency, "STALL": core.stall_cycles}
    assert verifier.promised(axi_verilog(core)) == numbers


@pytest.mark.parametrize("change", [("4\n6\ni0", "2\n6\ni0"), ("4\n6\ni0", "4\n3\ni0")], ids=["valid", "beat"])
def test_an_output_that_depends_on_ready_is_rejected(
    change: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verifier, "promised", lambda _: {})
    monkeypatch.setattr(verifier, "read_again", lambda verilog, *_: [verifier.Circuit.read(verilog)])
    for file in ("core.v", "circuit.aag"):
        (tmp_path / file).write_text(SMALL.replace(*change), encoding="utf-8")
    certificate = verifier.Certificate(tmp_path, verifier.Solver(SOLVER, "", tmp_path), "")
    with pytest.raises(verifier.RejectedError, match=r"^the output depends on ready$"):
        certificate.check_independence()


def test_certificates_with_the_same_name_have_files_and_verdicts_of_their_own(folder: Path, tmp_path: Path) -> None:
    both, kept = tmp_path / "both", tmp_path / "kept"
    for each in "ab":
        shutil.copytree(folder, both / each / "serial-0", ignore=shutil.ignore_patterns("*.inv"))
    assert verified(both, "--keep", str(kept))[0] == 0
    written = {path.parent.relative_to(kept).as_posix() for path in kept.rglob("*") if path.is_file()}
    assert written == {"a/serial-0", "b/serial-0"}
    (both / "a" / "serial-0" / "circuit.aag").write_text("", encoding="ascii")
    status, printed = verified(both)
    assert (status, printed.count("REJECTED"), printed.count("holds")) == (1, 1, 1)


@pytest.mark.parametrize("name", ["core.v", "circuit.aag"])
def test_a_certificate_without_a_file_is_rejected_and_not_passed_over(name: str, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "serial-1", ignore=shutil.ignore_patterns("*.inv"))
    (folder / name).unlink()
    (reason,) = rejected(tmp_path)
    assert name in reason


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--solver", "no-such-solver %s"), "there is no program 'no-such-solver'"),
        (("--solver", " "), "there is no program ''"),
        (("--solver", "'minisat"), '"\'minisat" is not a command: No closing quotation'),
        (("--solver", f"{sys.executable} -V", "--yosys", ""), "there is no program ''"),
        (("--solver", f"{sys.executable} -V", "--keep", f"{__file__}/kept"), "kept': Not a directory"),
    ],
)
def test_wrong_options_end_with_status_2(
    folder: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], message: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        verifier.main([str(folder), *options])
    assert message in capsys.readouterr().err


def test_a_circuit_that_is_cut_short_is_rejected(folder: Path) -> None:
    changed(folder / "circuit.aag", lambda text: "\n".join(text.splitlines()[:20]))
    (found,) = rejected(folder)
    assert re.fullmatch(r"circuit: the circuit ends after 19 of the \d+ lines that its header announces", found)


def test_prove_says_which_properties_have_certificates(tmp_path: Path) -> None:
    names = ("steady", "independence", "recovery")
    options = [word for name in names for word in ("--property", name)]
    done = utf8fpga("prove", "serial-0", *options, "--certificates", tmp_path)
    assert done.returncode == 0
    printed = done.stdout.decode()
    assert re.search(r"steady .*\(certificate of \d+ clauses\)", printed)
    assert "(certificate without an invariant)" in printed
    assert re.search(r"recovery .*no certificate: not in the statement", printed)
    assert {path.name for path in (tmp_path / "serial-0").iterdir()} == {"core.v", "circuit.aag", "steady.inv"}


def test_a_folder_that_cannot_be_written_is_known_before_the_proof(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = utf8fpga("prove", "serial-0", "--certificates", tmp_path / "file")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == f"utf8fpga: cannot write '{tmp_path / 'file'}': File exists\n"


@pytest.mark.parametrize(
    ("parameters", "wanted", "reason"),
    [
        (DecoderParameters(), "recovery", "not in the statement"),
        (DecoderParameters(kind=True), "steady", "the statement is of decoders of UTF-8 without further options"),
        (DecoderParameters(table=RFC_2279), "steady", "the statement is of decoders of UTF-8 without further options"),
        (DecoderParameters(lanes=2), "steady", "that words are contiguous is not in the statement"),
        (DecoderParameters(lanes=2, packed=False), "latency", "the latency of one lane only is in the statement"),
        (EncoderParameters(), "steady", "the statement is of decoders of UTF-8"),
    ],
    ids=lambda each: getattr(each, "name", None),
)
def test_what_is_not_in_the_statement_has_no_certificate(parameters: CoreParameters, wanted: str, reason: str) -> None:
    found = certify(Configuration.of(parameters), wanted, seconds=1)
    assert (found.text, found.files) == (f"no certificate: {reason}", {})


def test_what_is_not_proved_has_no_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    undecided = Result("serial-0", "steady", "reachability", 0, 0.0, None)
    monkeypatch.setattr(runner, "prove", lambda *_, **__: [undecided])
    monkeypatch.delattr(runner, "certify")
    assert runner._prove_call(CONFIGURATIONS["serial-0"], "steady", 1, True) == [undecided]


def test_the_program_is_small_and_shares_no_code() -> None:
    source = PROGRAM.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 460
    modules = re.findall(r"^\s*(?:from|import) (\w+)", source, re.MULTILINE)
    assert set(modules) <= {*sys.stdlib_module_names}
