"""Firmware headers give their arrays and integers exactly, or a reason with file and line."""

import numpy as np
import pytest
from soon import soon

from qemu_nn.errors import ModelError
from qemu_nn.importers.c_header import read_array, read_integer


@pytest.fixture
def header(tmp_path):
    def write(text):
        path = tmp_path / "weights.h"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


ARRAYS = {
    "a macro": "#define W {1,-2,3}",
    "a macro over lines": "#define W {1, \\\n -2, \\\r\n 3}\n",
    "a constant": "const q7_t W[3] = {1, -2, 3};",
    "a static one": "static const int8_t W[] = {1, -2, 3};",
    "no qualifier": "q7_t W[3]={1,-2,3};",
    "qualifiers the other way": "q7_t const static W[3] = {1, -2, 3};",
    "two words": "signed char W[3] = {1, -2, 3};",
    "an attribute": "static const q7_t W[3] __attribute__((aligned(4))) = {1, -2, 3};",
    "an attribute in front": "__attribute__((section (S))) const q7_t W[3] = {1,-2,3};",
    "a trailing comma": "#define W {1,-2,3,}",
    "an end of file": "#define N 3\n#define W {1,-2,3}",
    "comments": "/* W */ const q7_t W[/*n*/3] = { 1, // one, two\n -2, /* {,} */ 3 /*;*/ };",
    "a long comment line": "// \\\n const q7_t W[1] = {9};\nconst q7_t W[3] = {1,-2,3};",
    "nested braces": "const q7_t W[3][1] = {{1}, {-2}, {3}};",
    "hexadecimal, octal": "const q7_t W[3] = {0x1, -002, 0X3};",
    "octal alone": "#define W {01,-002,+03}",
    "suffixes": "const q7_t W[3] = {1u, -2L, 3UL};",
    "names": "#define ONE 1\n#define TWO (ONE+ONE)\nconst q7_t W[ONE+TWO] = {ONE, -TWO, 3};",
    "expressions": "const q7_t W[3] = {(5 - 4), -1 * 2, (7 >> 1)};",
    "hexadecimal bit patterns": "const q7_t W[3] = {0x01, 0xFE, 0x3};",
    "a guard with a value": "#ifndef W_H\n#define W_H 1\n#define W {1,-2,3}\n#endif\n",
    "guards": "#ifndef W_H\n#define W_H\n#define W {1,-2,3}\n#endif\n",
    "another guard": "#if !defined(W_H)\n#define W_H\n#define W {1,-2,3}\n#endif /* W_H */\n",
    "a guard of linkage": '#ifdef __cplusplus\nextern "C" {\n#endif\nconst q7_t W[3]={1,-2,3};\n'
    "#ifdef __cplusplus\n}\n#endif\n",
    "linkage": 'extern "C" { const q7_t W[3] = {1,-2,3}; }',
    "much around it": '#include "arm_math.h"\n#pragma once\ntypedef struct { int W; } s;\n'
    'extern const q7_t W[3];\nstatic const char *t = "};{=";\n#define F(x) {x}\n'
    "static inline int f(void) { int W[1] = {9}; return 0; }\nconst q7_t W[3] = {1,-2,3};\n"
    "const q7_t OTHER[1] = {9};\n",
    "the same twice": "#define W {1,-2,3}\n#define W  {1,-2,3} // again",
    "Latin-1": b"// \xe9\nconst q7_t W[3] = {1,-2,3};",
}


@pytest.mark.parametrize("form", ARRAYS)
def test_every_form_of_an_array_is_read(header, form):
    got = read_array(header(ARRAYS[form]), "W", "int8")
    assert got.dtype == np.int8
    assert got.tolist() == [1, -2, 3]


@pytest.mark.parametrize(
    ("declared", "dtype"),
    [
        *[("q7_t", "int8"), ("q15_t", "int16"), ("q31_t", "int32"), ("int8_t", "int8")],
        *[("int16_t", "int16"), ("int32_t", "int32"), ("int", "int32"), ("short", "int16")],
    ],
)
def test_every_type_holds_its_whole_range_and_no_more(header, declared, dtype):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    form = "const {} W[2] = {{{}, {}}};"
    path = header(form.format(declared, low, high))
    assert read_array(path, "W", dtype).tolist() == [low, high]
    for values in ((low - 1, high), (low, high + 1)):
        with pytest.raises(ModelError, match=r"weights\.h:1: "):
            read_array(header(form.format(declared, *values)), "W", dtype)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("3", 3),
        ("-3", -3),
        ("(-(3))", -3),
        ("0x7f", 127),
        ("0XFFFFFFFF", 2**32 - 1),
        ("017", 15),
        ("4096UL", 4096),
        ("-2147483648", -(2**31)),
        ("(3 + 4) * 2 - 20 / 3", 8),
        ("-7 / 2", -3),
        ("7 / -2", -3),
        ("-8 >> 1", -4),
        ("1 << 4 + 1", 32),
        ("TEN", 10),
        ("TEN * TEN", 100),
        ("SUM * 2", 5),  # 1 + 2 * 2: macros are text
        ("2 - -TEN", 12),
        ("( \\\n TEN /* ten */ )", 10),
    ],
)
def test_integers_have_the_value_that_c_gives_them(header, body, value):
    path = header(f"#define TEN 10\n#define SUM 1 + 2\n#define N {body}\n")
    assert read_integer(path, "N") == value


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("", "is not an expression"),
        ("1 2", "is not an expression"),
        ("(1", "is not an expression"),
        ("1)", "is not an expression"),
        ("TEN(1)", "is not an expression"),
        ("(1, 2)", "contains ','"),
        ("1.5", "contains '.5'"),
        ("08", "contains '08', which is not octal"),
        ("12abc", "names abc, which has no value"),
        ("1 ? 2 : 3", "contains '?'"),
        ("sizeof(int)", "names sizeof, which has no value"),
        ("(q7_t)3", "names q7_t, which has no value"),
        ("N", "names N, which has no value"),
        ("LOOP", "names LOOP, which has no value"),
        ("BIG32", "is too long"),
        ("1 / 0", "divides by zero"),
        ("1 << 32", "shifts by 32"),
        ("1 << 31", "leaves the range"),
        ("2147483647 + 1", "leaves the range"),
        ("1u - 2", "leaves the range 0..4294967295"),
        ("99999999999", "does not fit into 32 bits"),
        ("9" * 5000, "too many digits"),
        ("(" * 900 + "1" + ")" * 900, "is too long"),
        ("-" * 900 + "1", "is not an expression"),
        ("1 // 2 \\\n + 3 \n * 2", None),
        ("'a'", "contains"),
        ("__import__", "names __import__, which has no value"),
    ],
)
def test_what_is_no_integer_is_refused_with_its_line(header, body, reason):
    text = "#define TEN 10\n#define LOOP (LOOP2)\n#define LOOP2 LOOP\n#define BIG0 1+1\n"
    text += "".join(f"#define BIG{i + 1} BIG{i}+BIG{i}\n" for i in range(32))
    path = header(f"{text}#define N {body}\n")
    if reason is None:
        assert read_integer(path, "N") == 1
        return
    with pytest.raises(ModelError) as caught:
        read_integer(path, "N")
    assert f"{path}:37: " in str(caught.value)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("\nconst q7_t W[32] = {1,2};", 2, "W[32] is declared with 32 elements, but has 2"),
        ("const q7_t W[1] = {1,2};", 1, "has 2"),
        ("const q7_t W[-2] = {1,2};", 1, "-2 elements"),
        ("const q7_t W[2][2] = {{1,2},{3}};", 1, "inner braces of uneven length"),
        ("const q7_t W[][2] = {{1,2},{3}};", 1, "inner braces of uneven length"),
        ("const q7_t W[3][2] = {{1,2,3},{4,5,6}};", 1, "inner braces of uneven length"),
        ("const q7_t W[2][2] = {1,{2,3},4};", 1, "inner braces of uneven length"),
        ("#define W {{1},{2,3}}", 1, "inner braces of uneven length"),
        ("const q7_t W[M] = {1};", 1, "'M' names M"),
        ("#define W {1,\\\n 2,\\\n 128}", 3, "128 is not in -128..127"),
        ("const q7_t W[] = {\n1,\n/*\n*/ 300};", 4, "300 is not in -128..127"),
        ("const q7_t W[] = {1,\n\n  nan};", 3, "'nan' names nan"),
        ("#define W {99999999999}", 1, "does not fit into 32 bits"),
        ("#define W {" + "9" * 5000 + "}", 1, "too many digits"),
        ("#define W {1, 1.5}", 1, "contains '.5'"),
        ("#define W {1 2}", 1, "is not an expression"),
        ("#define W {1,,2}", 1, "not a list of integers in braces"),
        ("#define W {,1}", 1, "not a list of integers in braces"),
        ("#define W {}", 1, "not a list of integers in braces"),
        ("#define W {1", 1, "not a list of integers in braces"),
        ("#define W {1}}", 1, "not a list of integers in braces"),
        ("#define W {1},{2}", 1, "not a list of integers in braces"),
        ("#define W 1", 1, "not a list of integers in braces"),
        ("#define W", 1, "not a list of integers in braces"),
        ('const q7_t W[] = "abc";', 1, "not a list of integers in braces"),
        ("const uint8_t W[] = {128};", 1, "128 is not in 0..127"),
        ("const q15_t W[] = {1};", 1, "W is int16, but the network needs int8"),
        ("const float W[] = {1};", 1, "W has the type 'float', which is not supported; have: q7_t"),
        ("const char W[] = {1};", 1, "W has the type 'char'"),
        ("\n#define W(x) {1}", 2, "W must be defined in one of the forms"),
        ("extern const q7_t W[3];", 1, "W must be defined in one of the forms"),
        ("const q7_t *W = {1};", 1, "W must be defined in one of the forms"),
        ("const q7_t V[1] = {1}, W[1] = {1};", 1, "W must be defined in one of the forms"),
        ("#define W {1}\n#define W {2}", 2, "W is defined twice, with different values"),
        (
            "const q7_t W[]={1};\nconst q15_t W[]={1};",
            2,
            "W is defined twice, with different values",
        ),
        (
            "#define V\n#ifdef FAST\n#define W {1}\n#endif",
            2,
            "#ifdef is supported only as an include guard",
        ),
        ("#if 1\n#define W {1}\n#endif", 1, "#if is supported only as an include guard"),
        ("#ifndef V\n#define V\n#else\n#define W {1}\n#endif", 3, "#else is not supported"),
        ("#define W {1}\n#undef W\n", 2, "#undef is not supported"),
        ("#define W {1}\n#endif", 2, "#endif is not supported"),
        ("#ifndef V\n#define V\n#define W {1}", 3, "an #endif is missing"),
        ("\n#define W {1} /* \n\n", 2, "this /* has no end"),
        ('#define W {1}\n#define V "\n', 2, 'this " has no end'),
    ],
)
def test_what_is_no_array_is_refused_with_its_line(header, text, line, reason):
    path = header(text)
    with pytest.raises(ModelError) as caught:
        read_array(path, "W", "int8")
    assert f"{path}:{line}: " in str(caught.value)
    assert reason in str(caught.value)


def test_a_name_that_is_nowhere_is_refused(header):
    with pytest.raises(ModelError, match=r"weights\.h: there is no W"):
        read_array(header("#define V {1}"), "W", "int8")


def test_a_missing_header_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"cannot read .*weights\.h: No such file"):
        read_array(tmp_path / "weights.h", "W", "int8")


def test_a_giant_is_refused(tmp_path):
    path = tmp_path / "weights.h"
    with open(path, "wb") as stream:
        stream.truncate(2**26 + 1)
    with pytest.raises(ModelError, match="more than 64 MiB"):
        read_array(path, "W", "int8")


@pytest.mark.parametrize("separator", [",", ", ", ",\n", ", /**/"])
def test_large_arrays_come_whole(header, separator):
    values = np.random.default_rng(1).integers(-128, 128, 200_000)
    body = separator.join(map(str, values.tolist()))
    path = header(f"#define W {{{body}}}\n" if "\n" not in separator else f"q7_t W[]={{{body}}};")
    np.testing.assert_array_equal(read_array(path, "W", "int8"), values.astype(np.int8))


@pytest.mark.parametrize(
    "text",
    [
        *["{" * 300_000, "a" * 300_000, "a " * 150_000, "a[" * 150_000, "/" * 300_000],
        *[" " * 300_000, '"\\' * 150_000, "= {}" * 75_000, "#" * 300_000, "\n#define" * 40_000],
        *["\\\n" * 150_000, "q7_t W[] = {" + "0x1," * 75_000, "/*" * 150_000, "//\\\n" * 75_000],
        *["q7_t W[] = {" + "-" * 300_000 + "};", "'" * 299_999, "#define A B\n" * 25_000],
        *["__attribute__((" * 20_000, "q7_t W[] = {" + "9" * 300_000 + "};", "W " * 150_000],
    ],
)
def test_time_grows_with_the_file_and_no_faster(header, text):
    path = header(text)
    with soon(300), pytest.raises(ModelError):
        read_array(path, "W", "int8")


def test_any_damage_gives_an_array_or_an_error(header):
    good = (
        b"".join(
            text.encode() for text in ARRAYS.values() if isinstance(text, str) and "W_H" in text
        )
        + b"#define N (1 << 2)\nconst q7_t V[N][1] = {{0x1}, {-2}, {+3}, {N}}; // end\n"
    )
    random, reasons = np.random.default_rng(3), set()
    for _ in range(1000):
        data = bytearray(good)
        for _ in range(random.integers(1, 5)):
            letters = b'{}[](),;=#/*"\\\n 0x-+<>NVW\xff'
            data[random.integers(len(data))] = letters[random.integers(len(letters))]
        try:
            assert read_array(header(bytes(data)), "V", "int8").size > 0
        except ModelError as error:
            reasons.add(str(error))
    assert len(reasons) > 50
