/* Draws channels that are hard to round: ties, outputs that end before they are clamped, constants. */
#ifndef CHANNELS_H
#define CHANNELS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "s/epilogue_channel.h"

static uint64_t state;

/* SplitMix64. */
static uint64_t drawn(void) {
    uint64_t x = state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static int64_t between_ends(int64_t low, int64_t high) {
    return low + (int64_t)(drawn() % (uint64_t)(high - low + 1));
}

/* Round multipliers have ties, neighbours of powers of two are next to them. */
static int32_t drawn_multiplier(void) {
    const int bits = (int)between_ends(1, 30);
    const int64_t coarse =
        (INT64_C(1) << 30) + (between_ends(0, (INT64_C(1) << bits) - 1) << (30 - bits));
    switch (drawn() % 8) {
        case 0:
            return 1 << 30;
        case 1:
            return INT32_MAX;
        case 2:
            return (1 << 30) + 1;
        default:
            return (int32_t)coarse;
    }
}

static s_epilogue drawn_epilogue(void) {
    static const int32_t profiles[] = {16, 17, 24, 25};
    const int32_t offset = (int32_t)between_ends(-128, 128);
    s_epilogue e = {profiles[drawn() % 4], offset, -128, 127};
    if (drawn() % 2) {
        e.act_min = offset < -128 ? -128 : offset > 127 ? 127 : offset; /* rectified */
    }
    if (drawn() % 4 == 0) {
        e.act_max = (int32_t)between_ends(e.act_min, 127);
    }
    if (drawn() % 2) { /* as rows of unsigned outputs ask for them */
        e.output_offset += 128, e.act_min += 128, e.act_max += 128;
    }
    return e;
}

/* Half of the channels end before outputs are clamped. */
static epilogue_channel drawn_channel(int64_t largest) {
    epilogue_channel c = {drawn_multiplier(), (int32_t)between_ends(-24, 2), 0, 0};
    const int64_t most = (drawn() % 2 ? between_ends(1, 300) : 32000)
                         << (c.shift < 0 ? -c.shift : 0);
    c.most = between_ends(1, most < largest ? most : largest);
    c.bias = drawn() % 2 ? 0 : between_ends(-c.most, c.most);
    return c;
}

#endif
