"""Alias templates read as text: what `using Op = Some::Template<…>` names once its parameters are known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_WORD = re.compile(r"[A-Za-z_]\w*")
_NAME = re.compile(r"(?<!::)\b[A-Za-z_]\w*")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_CONDITIONAL = re.compile(r"std::conditional_t<")
_FIRST_OF = re.compile(r"(\d+)\s*/\s*S<\s*(\d+)[^<>]*>\{\}\.At\(0\)")
_FRONT = re.compile(r"S<\s*(\d+)[^<>]*>::At\(0\)")
_SAME = re.compile(r"(!?)(?:std|ck)::is_same_v<(.*)>", re.S)
_SPELT = {"false": "0", "true": "1", "int32_t": "int", "ck::index_t": "Index"}


@dataclass(frozen=True)
class Alias:
    """`template <parameters> using name = target<arguments>;`"""

    name: str
    parameters: tuple[str, ...]
    defaults: Mapping[str, str]
    target: str
    arguments: tuple[str, ...]

    def named(self, values: Mapping[str, str]) -> tuple[str, ...]:
        """The target and its arguments with these names replaced, over and over, until none is left."""
        return (self.target.split("::")[-1], *(plain(argument, values) for argument in self.arguments))


def without_comments(text: str) -> str:
    return _COMMENT.sub(" ", text)


def split_top(text: str) -> list[str]:
    """Parts between the commas that no bracket encloses."""
    parts, depth, begin = [], 0, 0
    for at, char in enumerate(text):
        depth += (char in "<({") - (char in ">)}")
        if char == "," and not depth:
            parts.append(text[begin:at].strip())
            begin = at + 1
    return [*parts, text[begin:].strip()]


def enclosed(text: str, begin: int) -> tuple[str, int]:
    """What stands in the angle brackets that open at `begin`, and where they end."""
    depth = 0
    for at in range(begin, len(text)):
        depth += (text[at] == "<") - (text[at] == ">")
        if not depth:
            return text[begin + 1 : at], at + 1
    raise AssertionError(f"unbalanced: {text[begin : begin + 80]}")


def find_alias(text: str, name: str) -> Alias:
    """The alias template of that name in a source without comments."""
    using = re.search(rf"using {name}\s*=\s*([\w:]+)\s*<", text)
    assert using is not None, name
    arguments, _ = enclosed(text, using.end() - 1)
    template = text.rindex("template", 0, using.start())
    parameters, end = enclosed(text, text.index("<", template))
    assert not text[end : using.start()].strip(), name
    named = [(_WORD.findall(part.split("=")[0])[-1], part.partition("=")[2].strip()) for part in split_top(parameters)]
    defaults = {name: default for name, default in named if default}
    return Alias(name, tuple(name for name, _ in named), defaults, using[1], tuple(split_top(arguments)))


def plain_aliases(text: str) -> dict[str, str]:
    """Every `using X = Y;` and `constexpr … X = n;` of a source, but for S: ck::Sequence under a shorter name."""
    found = re.findall(r"using (\w+)\s*=\s*([^;]+);", text)
    found += re.findall(r"constexpr [\w:]+ (\w+)\s*=\s*([^;{]+);", text)
    return {name: " ".join(value.split()) for name, value in found if name != "S"}


def plain(text: str, values: Mapping[str, str]) -> str:
    """One argument: names replaced, conditions decided, quotients computed, spelt one way."""
    for _ in range(20):
        text = re.sub(r"\btypename\b|\bC::", "", text)
        replaced = _NAME.sub(lambda name: values.get(name[0], name[0]), text)
        if replaced == text:
            break
        text = replaced
    text = _decided(text)
    text = _FIRST_OF.sub(lambda match: str(int(match[1]) // int(match[2])), text)
    text = _FRONT.sub(lambda match: match[1], text)
    text = re.sub(r"ck::(tensor_layout::gemm::|tensor_operation::(device|element_wise)::)?", "", text)
    text = re.sub(
        r"(BlockGemmPipelineScheduler|BlockGemmPipelineVersion|Scheduler|Version|GemmSpecialization)::", "", text
    )
    text = re.sub(r"Sequence<", "S<", text)
    text = _WORD.sub(lambda word: _SPELT.get(word[0], word[0]), re.sub(r"\s+", "", text))
    return re.sub(r"(Tuple<[^<>]*>)<[^<>]*>", r"\1", text)


def _decided(text: str) -> str:
    """`std::conditional_t<is_same, then, otherwise>` as the one it means."""
    while (found := _CONDITIONAL.search(text)) is not None:
        inner, end = enclosed(text, found.end() - 1)
        condition, then, otherwise = split_top(_decided(inner))
        same = _SAME.fullmatch(condition.strip())
        assert same is not None, condition
        left, right = (re.sub(r"\s+", "", part) for part in split_top(same[2]))
        chosen = then if (left == right) != bool(same[1]) else otherwise
        text = text[: found.start()] + chosen + text[end:]
    return text
