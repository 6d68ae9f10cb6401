/* Numbers, sides of windows and values at random: ordinary ones, and such as hurt. */
#ifndef CHANCE_H
#define CHANCE_H

#include "memory.h"

static uint32_t state;

/* Bytes of a fuzzer: numbers come from these as long as there are any. */
static const uint8_t *given, *given_end;

static uint32_t given_bits(int bytes) {
    uint32_t bits = 0;
    for (int i = 0; i < bytes && given < given_end; i++) {
        bits |= (uint32_t)*given++ << 8 * i;
    }
    return bits;
}

static uint32_t random_bits(void) { /* xorshift */
    if (given < given_end) {
        return given_bits(4);
    }
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static int32_t between(int32_t low, int32_t high) {
    const uint32_t values = (uint32_t)(high - low + 1);
    const uint32_t bits = given < given_end && values <= 256 ? given_bits(1) : random_bits();
    return low + (int32_t)(bits % values);
}

static int one_in(int32_t n) { return between(1, n) == 1; }

static int32_t random_channels(void) {
    static const int32_t channels[] = {1,  2,  3,  4,  7,  8,  12, 16, 17, 18, 20,  24,
                                       31, 32, 34, 48, 63, 64, 64, 65, 66, 80, 128, 130};
    return channels[between(0, sizeof channels / sizeof channels[0] - 1)];
}

/* An axis of windows over an image. */
typedef struct axis {
    int32_t in, kernel, pad, stride, dilation, out;
} axis;

/* Windows of one pixel. Rows may read them from the image itself, unless windows leave the image
 * or skip parts of it. */
static axis random_points(void) {
    axis a = {.kernel = 1, .dilation = one_in(4) ? 2 : 1, .out = one_in(5) ? 1 : between(1, 20)};
    a.stride = one_in(2) ? 1 : between(1, 3);
    a.in = (one_in(2) ? (a.out - 1) * a.stride + 1 : a.out) + (one_in(4) ? between(1, 3) : 0);
    return a;
}

/* Windows about as large as the image; one time in four they skip much of it, begin far outside
 * it, or are larger than the image. */
static axis random_windows(int dilates) {
    const int odd = one_in(4) ? between(1, 3) : 0;
    axis a = {.kernel = one_in(4) ? 1 : between(1, 5), .out = one_in(5) ? 1 : between(1, 20)};
    a.dilation = dilates && one_in(3) ? between(1, 4) : 1;
    a.stride = odd == 1 ? a.kernel + between(1, 5) : one_in(2) ? 1 : between(1, 3);
    a.pad = odd == 2 ? between(0, 3 * a.kernel) : a.kernel == 1 ? 0 : between(0, a.kernel);
    const int32_t reach = (a.out - 1) * a.stride + (a.kernel - 1) * (one_in(2) ? 1 : a.dilation);
    const int32_t in = odd == 3 ? between(1, 3) : reach + 1 - 2 * a.pad + between(-2, 2);
    a.in = in > 1 ? in : 1;
    return a;
}

/* Draws both axes: equal, points, or independent. Returns a count of channels: for points often a
 * multiple of the block that rows read at a time. */
static int32_t random_axes(int dilates, axis *y, axis *x) {
    const int points = one_in(6);
    *y = points ? random_points() : random_windows(dilates);
    *x = one_in(3) ? *y : points ? random_points() : random_windows(dilates);
    return points && between(0, 3) ? 64 * between(1, 2) : random_channels();
}

/* Random, all lowest, all highest, or one value among zeros, of elements `width` bytes wide,
 * `beside` bytes after a border of 64. */
static uint8_t *random_values(int64_t bytes, int width, int32_t beside) {
    uint8_t *const values = (uint8_t *)allocate(bytes + beside) + beside;
    const int kind = between(0, 5);
    for (int64_t i = 0; i < bytes; i++) {
        const int top = i % width == width - 1;
        values[i] = kind == 0   ? (top ? 0x80 : 0x00)
                    : kind == 1 ? (top ? 0x7f : 0xff)
                    : kind == 2 ? 0
                                : (uint8_t)between(0, 255);
    }
    if (kind == 2 && bytes > 0) {
        values[between(0, (int32_t)bytes - 1)] = 0x7f;
    }
    return values;
}

#endif
