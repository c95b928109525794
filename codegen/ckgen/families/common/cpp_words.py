"""Words that C++ text cannot use as a name of its own, each with the reason."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path

_BY_REASON = {
    "a keyword of C++": """
        alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class
        co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype
        default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline
        int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
        reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template
        this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t
        while xor xor_eq
    """,
    "a macro that compilers predefine": "linux unix i386 m68k mips sparc sun vax PPC",
    "a macro of the C library": "NULL EOF assert errno sched_priority stderr stdin stdout",
    "a name that the C++ standard keeps": "main posix std",
    "ckgen's own namespace": "ckgen",
}
WORDS = {word: reason for reason, words in _BY_REASON.items() for word in words.split()}
"""Words that are no name of a header's, each with the reason."""
GLOBAL_NAMES = Path(__file__).with_name("global_names.txt")
"""What headers of C put into the global namespace, where a namespace of the same name does not compile.

Recorded by tools/record_global_names.py: functions, types and macros of the headers of C17 (ISO/IEC 9899:2018, 7) and
of those that they and ckgen's include, as g++ and clang++ see them by default, in C++17 and C++20.
"""
OWN_MACROS = "CKGEN_"
_STD = re.compile(r"std[0-9]+")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@lru_cache(10_000)
def why_not_a_name(text: str) -> str | None:
    """Why the text cannot be a name in C++ that anybody may choose; None where it can."""
    if not _IDENTIFIER.fullmatch(text):
        return "a letter, then letters, digits and underscores"
    if "__" in text or text.startswith("_"):
        return "an underscore in front, or two together, are the compiler's"
    if _STD.fullmatch(text):
        return "a name that the C++ standard keeps"
    if text.startswith(OWN_MACROS):
        return "the form of ckgen's own macros"
    return WORDS.get(text) or ("a name of the C library" if text in _global_names() else None)


@cache
def _global_names() -> frozenset[str]:
    lines = GLOBAL_NAMES.read_text(encoding="ascii").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())
