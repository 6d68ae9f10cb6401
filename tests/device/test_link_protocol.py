"""Frames of the link: what is sent is what comes, and what is damaged is left out."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qemu_nn.device import protocol
from qemu_nn.device.protocol import Decoder, Frame, Malformed, encode_frame

BYTES = st.binary(max_size=600) | st.lists(st.sampled_from([0, 1, 255]), max_size=600).map(bytes)
FRAMES = st.builds(Frame, st.integers(1, 255), st.integers(0, 255), st.integers(0, 65535), BYTES)
DAMAGE = st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(["drop", "double", "flip"])))


@given(BYTES)
def test_stuffed_bytes_hold_no_zero_and_come_back(plain):
    stuffed = protocol.stuff(plain)
    assert 0 not in stuffed
    assert protocol.unstuff(stuffed) == plain
    assert len(stuffed) <= len(plain) + len(plain) // 254 + 1


@pytest.mark.parametrize("size", [253, 254, 255, 508, 509])
@pytest.mark.parametrize("end", [b"", b"\0", b"\x07"])
def test_blocks_end_where_they_are_full(size, end):
    plain = b"\x07" * size + end
    assert protocol.unstuff(protocol.stuff(plain)) == plain


def test_the_page_has_a_frame_that_is_one():
    """docs/protocol.md shows this one."""
    assert (
        encode_frame(Frame(protocol.HELLO, 1, 0x1234)).hex(" ")
        == "00 09 01 01 34 12 f1 50 a9 d0 00"
    )


@given(st.lists(FRAMES, max_size=4), st.integers(1, 40))
def test_frames_come_through_in_pieces_of_any_size(frames, size):
    stream, decoder = b"".join(map(encode_frame, frames)), Decoder()
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert [frame for piece in pieces for frame in decoder.feed(piece)] == frames


@given(st.lists(FRAMES, min_size=1, max_size=4), DAMAGE, FRAMES)
def test_damage_loses_frames_but_makes_none_and_ends_with_the_next(frames, damage, last):
    stream = bytearray(b"".join(map(encode_frame, frames)))
    for place, kind in damage:
        at = place % len(stream)
        if kind == "double":
            stream.insert(at, stream[at])
        elif kind == "flip":
            stream[at] ^= 1 << place % 8
        elif len(stream) > 1:
            del stream[at]
    came = list(Decoder().feed(bytes(stream) + encode_frame(last)))
    assert came[-1] == last
    assert all(frame in frames for frame in came[:-1])


def test_a_wrong_checksum_is_no_frame():
    plain = b"\x01\x02\x03\x04"
    wrong = (zlib.crc32(plain) ^ 1).to_bytes(4, "little")
    assert list(Decoder().feed(b"\0" + protocol.stuff(plain + wrong) + b"\0")) == []


def test_noise_without_end_does_not_fill_the_memory():
    decoder = Decoder()
    for _ in range(8):
        assert list(decoder.feed(b"\x55" * (1 << 16))) == []
    assert len(decoder._waiting) <= 1 << 18


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "no version"),
        (b"\x02" + bytes(10), "version 2 of the protocol, this program 1"),
        (b"\x01\x40\x00", "too short"),
        (b"\x01\x3f\x00" + bytes(8), "has 63 bytes, but 64 are needed"),
    ],
)
def test_a_greeting_that_is_none_is_a_sentence(content, sentence):
    with pytest.raises(Malformed, match=sentence):
        protocol.parse_hello(content)


@given(st.binary(max_size=60))
def test_any_report_is_read_or_refused(content):
    try:
        report = protocol.report_of(content)
    except Malformed:
        return
    assert len(report.beginning) <= report.size
