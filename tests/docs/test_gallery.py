"""The gallery of attention: every program in both languages over one library, and upstream's parity configurations."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from test_examples import EXAMPLES, checkout, run_readme

import cpp_build
from ckgen.runtime import Library

pytestmark = [pytest.mark.cpp, pytest.mark.slow]
GALLERY = EXAMPLES / "08_fmha"
PROGRAMS = sorted(path.stem for path in (GALLERY / "cpp").glob("[0-9]*.cpp"))
SIZES = {"--batch": "3", "--heads": "6,3", "--seqlen": "33,47", "--hdim": "32"}
SAID = [word for option in SIZES.items() for word in option]
ASKED = {"batch": 3, "heads_q": 6, "heads_k": 3, "hdim_q": 32, "hdim_v": 32}
NOT_ON_THE_TWIN = {"07_dropout": "without randval"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs, built by the README's commands, which run one of each language."""
    folder = checkout(tmp_path_factory.mktemp("gallery") / "ckgen")
    cpp_build.installed(folder / "prefix")
    output = run_readme("08_fmha", folder)
    assert output.startswith("O = softmax(scale Q K^T) V, within ") and output.endswith(": correct\n")
    return folder / "build" / "08"


def asked_for(output: str) -> Iterator[dict[str, int]]:
    """The sizes of each selection, of CKGEN_VERBOSE's lines."""
    for sizes in re.findall(r"^ckgen_verbose,v1,select,fmha_[^,]*,[^,]*,([^,]*),", output, re.MULTILINE):
        yield {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)\b", sizes)}


def assert_honoured(program: str, output: str) -> None:
    seen = list(asked_for(output))
    assert seen and any(ASKED.items() <= one.items() for one in seen), output
    lengths = {(one["seqlen_q"], one["seqlen_k"]) for one in seen}
    if program == "07_dropout" and (33, 47) not in lengths:
        assert (33, 32) in lengths  # of Python: as many keys as V has columns
    else:
        assert (33, 47) in lengths, output


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_is_right_with_its_own_sizes_and_others(built: Path, program: str) -> None:
    done = cpp_build.attempt(built / program)
    assert done.returncode == 0 and ": correct" in done.stdout and "WRONG" not in done.stdout, done.stdout
    done = cpp_build.attempt(built / program, *SAID, env={"CKGEN_VERBOSE": "1"})
    assert done.returncode == 0 and ": correct" in done.stdout and "WRONG" not in done.stdout, done.stdout
    assert_honoured(program, done.stdout)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs_on_a_simulated_gpu_or_says_why_not(built: Path, program: str) -> None:
    done = cpp_build.attempt(built / program, "--target", "gfx942:304", env={"CKGEN_VERBOSE": "1"})
    assert ",gfx942:304," in done.stdout and "WRONG" not in done.stdout, done.stdout
    if (why := NOT_ON_THE_TWIN.get(program)) is not None:
        assert done.returncode == 2 and "refused: " in done.stdout and why in done.stdout
    else:
        assert done.returncode == 0 and ": correct" in done.stdout, done.stdout


@pytest.mark.parametrize("words", [("--batch", "0"), ("--heads", "8,x"), ("--sequence", "4"), ("--hdim",)])
def test_what_is_no_option_is_refused(built: Path, words: tuple[str, ...]) -> None:
    done = cpp_build.attempt(built / "01_basic", *words)
    assert done.returncode == 2 and f"{words[0]}? --target host|gfx942:304" in done.stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_of_python_is_right(
    built: Path, program: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = GALLERY / "python" / f"{program}.py"
    monkeypatch.syspath_prepend(str(file.parent))
    monkeypatch.setenv("CKGEN_VERBOSE", "1")
    monkeypatch.setattr(sys, "argv", [str(file), *SAID, "--library", str(built / "libgallery_python.so")])
    with pytest.raises(SystemExit) as left:
        runpy.run_path(str(file), run_name="__main__")
    output = "".join(capfd.readouterr())
    assert left.value.code == 0 and ": correct" in output and "WRONG" not in output, output
    if program not in ("18_profiles",):
        assert_honoured(program, output)


def test_a_wrong_result_is_seen(
    built: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A library that drops a key's weight: the checks of the gallery say so, and the program exits with 1."""
    file = GALLERY / "python" / "01_basic.py"
    monkeypatch.syspath_prepend(str(file.parent))
    monkeypatch.setattr(sys, "argv", [str(file), "--library", str(built / "libgallery_python.so")])
    real = Library.attention

    def off(self: Library, q: Any, k: Any, v: Any, **said: Any) -> Any:
        return real(self, q, k[:, :-1], v[:, :-1], **said)

    monkeypatch.setattr(Library, "attention", off)
    with pytest.raises(SystemExit) as left:
        runpy.run_path(str(file), run_name="__main__")
    assert left.value.code == 1 and ": WRONG\n" in capfd.readouterr().out


def test_programs_are_short_and_of_both_languages() -> None:
    in_python = sorted(path.stem for path in (GALLERY / "python").glob("[0-9]*.py"))
    assert in_python == PROGRAMS and len(PROGRAMS) == 21
    listed = re.findall(r"^\| `(\d\d_\w+)` \|", (GALLERY / "README.md").read_text(), re.MULTILINE)
    assert listed == PROGRAMS
    for path in (*(GALLERY / "cpp").glob("[0-9]*"), *(GALLERY / "python").glob("[0-9]*.py")):
        assert len(path.read_text().splitlines()) <= 60, path.name


@dataclass(frozen=True)
class Parity:
    """A configuration of CK's dispatcher/tests/test_fmha_parity.py, by its name there; sizes are its own."""

    name: str
    dtype: Any = np.float16
    batch: int = 2
    heads: tuple[int, int] = (2, 2)
    lengths: tuple[int, int] = (128, 128)
    mask: str = ""
    bias: str = ""
    lse: bool = False
    hdim: int = 128


PARITY = (
    Parity("basic_fp16"),
    Parity("basic_bf16", dtype=ml_dtypes.bfloat16),
    Parity("longer_seq", lengths=(256, 256)),
    Parity("small_batch", batch=1, heads=(8, 8), lengths=(64, 64)),
    Parity("gqa_2_1", heads=(4, 2)),
    Parity("gqa_4_1", heads=(8, 2)),
    Parity("causal_top_left", mask="top_left"),
    Parity("causal_bottom_right", mask="bottom_right"),
    Parity("bias_elementwise", bias="elementwise"),
    Parity("bias_alibi", bias="alibi"),
    Parity("with_lse", lse=True),
    Parity("big_batch", batch=4, heads=(8, 8)),
    Parity("asymmetric_seq", lengths=(64, 256)),
    Parity("single_query", batch=1, heads=(4, 4), lengths=(1, 128)),
)
TORCH = find_spec("torch") is not None


def scores_of(one: Parity, q: Any, k: Any, bias: Any) -> Any:
    """[batch, head, row, key], -inf where hidden."""
    (rows, keys), (heads, of_k) = one.lengths, one.heads
    k = np.repeat(k, heads // of_k, axis=2)
    scores = np.einsum("bihd,bjhd->bhij", q, k) / np.sqrt(one.hdim)
    i, j = np.indices((rows, keys))
    if one.bias == "elementwise":
        scores = scores + bias
    elif one.bias == "alibi":
        scores = scores - bias[None, :, None, None] * np.abs(i + keys - rows - j)
    if one.mask:
        scores = np.where(j <= i + (keys - rows if one.mask == "bottom_right" else 0), scores, -np.inf)
    return scores


def independent(one: Parity, q: Any, k: Any, v: Any, bias: Any) -> tuple[Any, Any]:
    """O and lse in float64: torch's softmax and products where it is installed, else NumPy's."""
    scores, v = scores_of(one, q, k, bias), np.repeat(v, one.heads[0] // one.heads[1], axis=2)
    if TORCH:
        import torch

        wide = torch.from_numpy(scores)
        o = torch.softmax(wide, -1) @ torch.from_numpy(np.moveaxis(v, 1, 2).copy())
        return o.movedim(1, 2).numpy(), torch.logsumexp(wide, -1).numpy()
    most = scores.max(-1, keepdims=True)
    p = np.exp(scores - most)
    total = p.sum(-1, keepdims=True)
    return np.einsum("bhij,bjhd->bihd", p / total, v), (most + np.log(total))[..., 0]


@pytest.mark.parametrize("device", [None, "gfx942:304"])
@pytest.mark.parametrize("one", PARITY, ids=lambda one: one.name)
def test_upstreams_parity_configurations(built: Path, one: Parity, device: str | None) -> None:
    """Values, where upstream compares exit codes, and with the mask, bias, heads and type that each names."""
    lib = Library.load(built / "libgallery_python.so", ["gallery_kernels"], device)
    random = np.random.default_rng(42)
    (rows, keys), (heads, of_k) = one.lengths, one.heads
    sizes = ((rows, heads), (keys, of_k), (keys, of_k))
    q, k, v = ((random.standard_normal((one.batch, *size, one.hdim)) / 2).astype(one.dtype) for size in sizes)
    bias: Any = None
    if one.bias == "elementwise":
        bias = random.standard_normal((one.batch, heads, rows, keys)).astype(one.dtype)
    elif one.bias == "alibi":
        bias = np.exp2(-8 * np.arange(1, heads + 1) / heads).astype(np.float32)
    found = lib.attention(q, k, v, bias=bias, causal=bool(one.mask), top_left=one.mask == "top_left", with_lse=one.lse)
    out, lse = found if one.lse else (found, None)
    wide = (each.astype(np.float64) for each in (q, k, v))
    right, right_lse = independent(one, *wide, None if bias is None else bias.astype(np.float64))
    # O and P are rounded to the type once: half a unit of the largest values of V and of 1.
    bound = 2 * float(ml_dtypes.finfo(one.dtype).eps) * np.abs(v.astype(np.float64)).max()
    assert np.abs(out.astype(np.float64) - right).max() <= bound
    if lse is not None:
        assert np.abs(lse - right_lse).max() <= 1e-5 * np.abs(right_lse).max()


def test_parity_has_upstreams_fourteen_and_a_wrong_mask_is_seen() -> None:
    assert len({one.name for one in PARITY}) == len(PARITY) == 14
    random = np.random.default_rng(1)
    one = Parity("uneven", lengths=(4, 9), heads=(1, 1), hdim=8)
    q, k, v = (random.standard_normal((2, n, 1, 8)) for n in (4, 9, 9))
    ends = [independent(Parity("x", lengths=(4, 9), heads=(1, 1), hdim=8, mask=mask), q, k, v, None)[0]
            for mask in ("top_left", "bottom_right", "")]  # fmt: skip
    assert all(np.abs(a - b).max() > 0.1 for a, b in zip(ends, (*ends[1:], ends[0]), strict=True))
    assert np.abs(independent(one, q, k, v, None)[0] - ends[2]).max() == 0
