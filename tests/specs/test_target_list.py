"""Target lists: what is accepted, what is refused, and with which words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckgen.model.arch import ArchKind, ArchSpec, Sku
from ckgen.model.errors import UsageError
from ckgen.model.target import Target
from ckgen.specs import TargetError, TargetList, load_archs, resolve_targets

ARCHS = load_archs()


def resolve(text: str | None, env: Mapping[str, str] | None = None, native: Target | None = None) -> TargetList:
    return resolve_targets(text, env=env or {}, archs=ARCHS, native=lambda: native or Target("x86_64_v3", 2))


def words(text: str | None, env: Mapping[str, str] | None = None) -> list[str]:
    return [str(target) for target in resolve(text, env).targets]


def refusal(text: str | None, env: Mapping[str, str] | None = None) -> str:
    with pytest.raises(TargetError) as caught:
        resolve(text, env)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gfx942", ["gfx942:304"]),
        ("gfx942:80", ["gfx942:80"]),
        ("GFX942;gfx950", ["gfx942:304", "gfx950:256"]),
        ("gfx950;gfx942", ["gfx942:304", "gfx950:256"]),
        ("gfx942:80 gfx942", ["gfx942:80", "gfx942:304"]),
        ("gfx942, gfx942:304;;gfx942", ["gfx942:304"]),
        (";gfx942;", ["gfx942:304"]),
        ("gfx942:sramecc+:xnack-", ["gfx942:304"]),
        ("gfx942:80:sramecc+", ["gfx942:80"]),
        ("gfx942:sramecc+:80", ["gfx942:80"]),
        ("gfx950:128\n\tgfx90a", ["gfx90a:104", "gfx950:128"]),
        ("gfx950:0128", ["gfx950:128"]),
        ("native", ["x86_64_v3:2"]),
        ("NATIVE;gfx942", ["gfx942:304", "x86_64_v3:2"]),
        ("x86_64_v4", ["x86_64_v4:1"]),
        ("X86_64_AMX:56", ["x86_64_amx:56"]),
        ("mi300x", ["gfx942:304"]),
        ("MI308X;MI300A", ["gfx942:80", "gfx942:228"]),
        ("mi300x:38", ["gfx942:38"]),
        ("mi300x:sramecc+", ["gfx942:304"]),
        ("mi350p,MI355X", ["gfx950:128", "gfx950:256"]),
        ("MI325X;mi350x", ["gfx942:304:mi325x", "gfx950:256:mi350x"]),
        ("mi325x:38", ["gfx942:38:mi325x"]),
        ("mi325x:80", ["gfx942:80"]),
        ("gfx942:304:MI325X;gfx942:304", ["gfx942:304", "gfx942:304:mi325x"]),
        ("gfx942:304:mi300x", ["gfx942:304:mi300x"]),
        ("gfx942:sramecc+:304:mi325x", ["gfx942:304:mi325x"]),
        ("gfx942:76:mi300a", ["gfx942:76:mi300a"]),
        ("sm_90:132:h200", ["sm_90a:132:h200"]),
        ("RX-9070-XT rx9060_xt", ["gfx1200:16", "gfx1201:32"]),
    ],
)
def test_accepted(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("arch", "sku"), [(arch, sku) for arch in ARCHS.values() for sku in arch.skus if arch.kind is ArchKind.GPU]
)
def test_every_product_that_is_listed_is_a_target(arch: ArchSpec, sku: Sku) -> None:
    usual = next(one for one in sorted(arch.skus, key=lambda one: not one.default) if one.cu_num == sku.cu_num)
    product = f":{sku.word}" if sku is not usual else ""
    assert words(sku.name.replace(" ", "-")) == [f"{arch.name}:{sku.cu_num}{product}"]


TARGETS = st.sampled_from([arch for arch in ARCHS.values() if arch.kind is ArchKind.GPU]).flatmap(
    lambda arch: st.sampled_from([Target(arch.name, count, sku.word) for sku in arch.skus for count in sku.cu_nums])
)


@given(st.lists(st.one_of(TARGETS, TARGETS.map(lambda one: one.any_sku)), min_size=1))
def test_the_text_of_a_target_names_it(targets: list[Target]) -> None:
    assert list(resolve(";".join(map(str, targets))).targets) == sorted(set(targets))


@given(TARGETS, TARGETS)
def test_a_target_concerns_those_that_it_may_be(one: Target, other: Target) -> None:
    assert one.concerns(one.any_sku) and one.any_sku.concerns(one)
    assert one.concerns(other) == (one == other)
    assert one.concerns(other.any_sku) == (one.any_sku == other.any_sku)


def test_a_product_of_two_archs_is_refused() -> None:
    copied = {**ARCHS, "gfx9999": replace(ARCHS["gfx942"], name="gfx9999")}
    with pytest.raises(TargetError, match="'mi300x' is a product of several archs: gfx942:304, gfx9999:304"):
        resolve_targets("MI300X", env={}, archs=copied, native=lambda: Target("gfx942", 304))


def test_environment_in_order() -> None:
    assert words(None, {"CKGEN_TARGETS": "gfx950", "GPU_ARCHS": "gfx942"}) == ["gfx950:256"]
    assert words(None, {"CKGEN_TARGETS": " ", "GPU_ARCHS": "gfx942"}) == ["gfx942:304"]
    assert words("gfx90a", {"CKGEN_TARGETS": "gfx950"}) == ["gfx90a:104"]


def test_cu_num_is_the_count_of_gpus_of_gpu_archs_that_name_none() -> None:
    count = {"CU_NUM": " 80 "}
    assert words(None, count | {"GPU_ARCHS": "gfx942;gfx950"}) == ["gfx942:80", "gfx950:80"]
    assert words(None, count | {"GPU_ARCHS": "gfx942:304;gfx950:xnack-"}) == ["gfx942:304", "gfx950:80"]
    assert words(None, count | {"GPU_ARCHS": "native;x86_64_v4"}) == ["x86_64_v3:2", "x86_64_v4:1"]
    assert words(None, count | {"CKGEN_TARGETS": "gfx942", "GPU_ARCHS": "gfx950"}) == ["gfx942:304"]
    assert words("gfx942", count | {"GPU_ARCHS": "gfx950"}) == ["gfx942:304"]
    assert words(None, {"GPU_ARCHS": "gfx942", "CU_NUM": ""}) == ["gfx942:304"]
    for wrong in ("0", "abc", "-80"):
        assert f"'CU_NUM={wrong}': '{wrong}' is no CU count" in refusal(None, {"GPU_ARCHS": "gfx942", "CU_NUM": wrong})


def test_an_unknown_count_of_a_known_gfx_is_said_and_used() -> None:
    found = resolve("gfx942:300;gfx950")
    assert found.targets == (Target("gfx942", 300), Target("gfx950", 256))
    assert found.notes == (
        "gfx942:300: no known product reports 300 CUs (known: 38, 76, 80, 152, 228, 304); built as asked",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the target list '' names no target"),
        (" ; ,", "the target list '; ,' names no target"),
        ("gfx94", "unknown arch 'gfx94', did you mean 'gfx942'?"),
        ("nothing", "unknown arch 'nothing'; known: gfx1100,"),
        ("mi300y", "unknown arch 'mi300y', did you mean 'mi300"),
        ("mi300x:0", "'mi300x:0': '0' is no CU count (1 to 2147483647, as in gfx942:304)"),
        ("one core", "unknown arch 'one'"),
        ("gfx942:0", "'gfx942:0': '0' is no CU count"),
        ("gfx942:-80", "'gfx942:-80': '-80' is no CU count"),
        ("gfx942:abc", "'gfx942:abc': 'abc' is no CU count"),
        ("gfx942:", "'gfx942:': '' is no CU count"),
        ("gfx942:80:304", "'gfx942:80:304': more than one CU count"),
        ("gfx942:304:mi325x:mi300x", "'gfx942:304:mi325x:mi300x': more than one product"),
        ("gfx942:304:mi325", "'mi325' is no product of gfx942 with 304 CUs (known: mi300x, mi325x)"),
        ("gfx942:80:mi325x", "'mi325x' is no product of gfx942 with 80 CUs (known: mi308x)"),
        ("gfx942:7:mi325x", "'mi325x' is no product of gfx942 with 7 CUs; known"),
        ("gfx942:304:", "'' is no product of gfx942 with 304 CUs"),
        ("gfx942:mi325x", "'gfx942:mi325x': 'mi325x' is no CU count"),
        ("x86_64_v4:8:zen", "'zen' is no product of x86_64_v4 with 8 CUs"),
        ("gfx942:８０", "'gfx942:８０': '８０' is no CU count"),
        ("native:80", "native takes neither a count nor features"),
    ],
)
def test_refused(text: str, said: str) -> None:
    message = refusal(text)
    assert said in message
    assert message.endswith("native")


@pytest.mark.parametrize("count", [str(2**31), "9" * 5000], ids=len)
def test_a_count_that_no_device_can_report_is_refused(count: str) -> None:
    assert "is no CU count (1 to 2147483647" in refusal(f"gfx942:{count}")
    assert words(f"gfx942:{2**31 - 1}") == ["gfx942:2147483647"]


def test_no_list_at_all_says_what_to_give() -> None:
    assert "give --targets or set CKGEN_TARGETS or GPU_ARCHS" in refusal(None)
    assert "GPU_ARCHS=';' names no target" in refusal(None, {"GPU_ARCHS": ";"})


def test_all_bad_elements_are_named_at_once() -> None:
    message = refusal("gfx943;gfx950;gfx942:0")
    assert "unknown arch 'gfx943'" in message
    assert "'0' is no CU count" in message


def test_a_native_device_without_a_spec_is_refused() -> None:
    with pytest.raises(TargetError, match="the native device is gfx1030:40, an arch without a spec"):
        resolve("native", native=Target("gfx1030", 40))


def test_target_errors_are_usage_errors() -> None:
    assert issubclass(TargetError, UsageError)
    assert TargetError.exit_code == 2


def test_native_is_not_asked_unless_named() -> None:
    def never() -> Target:
        raise AssertionError

    assert resolve_targets("gfx942", env={}, archs=ARCHS, native=never).targets == (Target("gfx942", 304),)


ELEMENTS = st.sampled_from(sorted(ARCHS)).flatmap(
    lambda name: st.one_of(st.just(name), st.integers(1, 512).map(lambda count: f"{name}:{count}"))
)


@given(st.lists(ELEMENTS, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_order_repetition_case_and_separators_change_nothing(elements: list[str], random: object) -> None:
    import random as module

    assert isinstance(random, module.Random)
    shuffled = elements + random.choices(elements, k=3)
    random.shuffle(shuffled)
    parts = []
    for element in shuffled:
        parts.append(element.upper() if random.random() < 0.5 else element)
        parts.append(random.choice([";", ",", " ", ";;", " ;\n", ",\t"]))
    assert resolve("".join(parts)) == resolve(";".join(elements))


@given(st.lists(ELEMENTS, min_size=1, max_size=8))
def test_what_is_printed_is_read_back(elements: list[str]) -> None:
    targets = resolve(" ".join(elements)).targets
    assert resolve(";".join(map(str, targets))).targets == targets
    assert list(targets) == sorted(set(targets))


@given(st.text(max_size=30))
def test_any_text_is_accepted_or_refused_in_words(text: str) -> None:
    try:
        assert resolve(text).targets
    except TargetError as error:
        assert "known: gfx1100" in str(error)
