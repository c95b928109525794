"""Words that C++ text cannot use as a name of its own, each with the reason."""

from __future__ import annotations

import re

_WORDS = {
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
_RESERVED = {word: reason for reason, words in _WORDS.items() for word in words.split()}
_STD = re.compile(r"std[0-9]+")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def why_not_a_name(text: str) -> str | None:
    """Why the text cannot be a name in C++ that anybody may choose; None where it can."""
    if not _IDENTIFIER.fullmatch(text):
        return "a letter, then letters, digits and underscores"
    if "__" in text or text.startswith("_"):
        return "an underscore in front, or two together, are the compiler's"
    if text in _RESERVED:
        return _RESERVED[text]
    return "a name that the C++ standard keeps" if _STD.fullmatch(text) else None
