from __future__ import annotations

import re

from ckgen import paths
from ckgen.model.suggestion import did_you_mean, nearest_or_all


def test_the_nearest_word_is_named() -> None:
    known = ("lds_bytes", "wave_size", "Silu")
    assert did_you_mean("lds_byte", known) == did_you_mean("LDS_BYTES", known) == "did you mean 'lds_bytes'?"
    assert did_you_mean("Sil", known) == "did you mean 'Silu'?"
    assert did_you_mean("cu", known) is None
    assert did_you_mean("wave_siz", ("wave_sizes", "wave_size", "wave_sign")) == "did you mean 'wave_size'?"


def test_all_words_are_named_where_none_is_near() -> None:
    assert nearest_or_all("wave", iter(("ck", "hip"))) == "known: ck, hip"
    assert nearest_or_all("hpi", iter(("ck", "hip"))) == "did you mean 'hip'?"


def test_only_one_module_says_it_and_looks_for_near_words() -> None:
    folders = (paths.dispatcher_dir().parent / "codegen", paths.dispatcher_dir().parent / "emulator")
    sources = [file for folder in folders for file in folder.rglob("*.py")]
    said = [file.name for file in sources if re.search(r"did you mean|get_close_matches", file.read_text("utf-8"))]
    assert said == ["suggestion.py"]
