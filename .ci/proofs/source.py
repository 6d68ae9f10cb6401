"""C sources of the project as syntax trees: preprocessed by gcc, parsed by pycparser."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from pycparser import c_ast, c_parser

ROOT = Path(__file__).resolve().parents[2]

#: System headers without what a compiler alone understands. Intrinsics need no declaration.
HEADERS = {
    "stdint.h": """
typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t;
typedef unsigned short uint16_t; typedef int int32_t; typedef unsigned int uint32_t;
typedef long long int64_t; typedef unsigned long long uint64_t; typedef long long intptr_t;
typedef unsigned long long uintptr_t;
#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT16_MIN (-32768)
#define INT16_MAX 32767
#define UINT16_MAX 65535
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295u
#define INT64_MIN (-9223372036854775807LL - 1)
#define INT64_MAX 9223372036854775807LL
#define UINT64_MAX 18446744073709551615ULL
#define INT32_C(x) x
#define UINT32_C(x) x##u
#define INT64_C(x) x##LL
#define UINT64_C(x) x##ULL
""",
    "stddef.h": """
typedef unsigned long long size_t; typedef long long ptrdiff_t;
#define NULL ((void *)0)
#define offsetof(type, name) ((size_t) &((type *)0)->name)
""",
    "immintrin.h": """
typedef struct __m128i __m128i; typedef struct __m256i __m256i; typedef struct __m512i __m512i;
typedef struct __m256 __m256; typedef struct __m512 __m512; typedef struct __m128 __m128;
typedef struct __m256d __m256d; typedef unsigned char __mmask8; typedef unsigned short __mmask16;
typedef unsigned int __mmask32; typedef unsigned long long __mmask64;
enum { _MM_PERM_DDBB = 0xf5, _MM_PERM_CCAA = 0xa0, _MM_FROUND_TO_ZERO = 3, _MM_FROUND_NO_EXC = 8 };
#define _MM_SHUFFLE(d, c, b, a) ((d) << 6 | (c) << 4 | (b) << 2 | (a))
""",
    "arm_neon.h": """
typedef struct int32x4_t int32x4_t; typedef struct uint32x4_t uint32x4_t;
typedef struct int16x8_t int16x8_t; typedef struct int8x16_t int8x16_t;
typedef struct float32x4_t float32x4_t;
""",
    "string.h": "#include <stddef.h>\n",
    "stdio.h": "",
    "stdarg.h": "typedef void *va_list;\n#define va_start(...)\n#define va_end(...)\n",
    "stdlib.h": "",
}

FLAGS = ["-D__attribute__(x)=", "-D__asm__(...)=", "-D_Pragma(x)=", "-D__extension__="]
FLAGS.append("-D__builtin_convertvector(x, type)=(x)")


@dataclass
class Program:
    """Functions, variables, types and enumerators of one translation unit."""

    functions: dict[str, c_ast.FuncDef] = field(default_factory=dict)
    variables: dict[str, c_ast.Decl] = field(default_factory=dict)
    typedefs: dict[str, c_ast.Node] = field(default_factory=dict)
    structs: dict[str, list[c_ast.Decl]] = field(default_factory=dict)
    enumerators: dict[str, c_ast.Node | tuple[str, int] | None] = field(default_factory=dict)


def preprocessed(text: str, csrc: Path, flags: tuple[str, ...] = ()) -> str:
    """Return `text` after gcc's preprocessor, which finds headers of the project under `csrc`."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in HEADERS.items():
            guard = f"#ifndef H_{name[:-2]}\n#define H_{name[:-2]}\n{content}\n#endif\n"
            (Path(folder) / name).write_text(guard, encoding="utf-8")
        command = ["gcc", "-E", "-P", "-nostdinc", f"-I{folder}", f"-I{csrc}", *FLAGS, *flags, "-"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(done.stderr)
    lines = done.stdout.splitlines()
    return "\n".join(line for line in lines if not line.startswith("#pragma"))


class _Collector(c_ast.NodeVisitor):
    def __init__(self, program: Program) -> None:
        self.program = program

    def visit_Struct(self, node: c_ast.Struct) -> None:
        if node.decls is not None:
            self.program.structs[_tag(node)] = node.decls
        self.generic_visit(node)

    visit_Union = visit_Struct

    def visit_Enum(self, node: c_ast.Enum) -> None:
        previous = None
        for each in node.values.enumerators if node.values else []:
            after = (previous, 1) if previous else None
            self.program.enumerators[each.name] = each.value if each.value is not None else after
            previous = each.name

    def visit_FuncDef(self, node: c_ast.FuncDef) -> None:
        self.program.functions[node.decl.name] = node
        self.generic_visit(node)

    def visit_Typedef(self, node: c_ast.Typedef) -> None:
        self.program.typedefs[node.name] = node.type
        self.generic_visit(node)


def _tag(node: c_ast.Struct) -> str:
    return node.name or f"unnamed {id(node)}"


def parse_text(text: str) -> Program:
    """Return what a preprocessed C text defines."""
    tree = c_parser.CParser().parse(text)
    program = Program()
    _Collector(program).visit(tree)
    for node in tree.ext:
        if isinstance(node, c_ast.Decl) and node.name and not isinstance(node.type, c_ast.FuncDecl):
            program.variables[node.name] = node
    return program
