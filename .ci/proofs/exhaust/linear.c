/* Compares linear epilogues (csrc/s/linear.h) with the integers, for every sum of drawn channels.
 *
 * Lemma. The integers are a step function of the sum that never falls, as the multiplier is positive.
 * The linear form never falls either. Dwords from 0x4b000000 on have the order of their floats, scale is
 * positive, and one rounding to nearest keeps the order. Two such functions are equal after clamping if
 * they are equal on both sides of each step and at both ends. The search proves this equality in integers
 * and refuses ties. This program tests the search.
 *
 * usage: linear SEED CHANNELS */
#include "channels.h"
#include "s/linear_proof.c"

/* Return the output of a sum as the kernels compute it: the lower 16 bits, then clamped. */
static inline int32_t linear_output(const linear_numbers *l, const s_epilogue *e, int32_t sum) {
    const uint32_t dword = (uint32_t)sum + (uint32_t)l->jump;
    float x, y;
    uint32_t bits;
    memcpy(&x, &dword, sizeof x);
    y = __builtin_fmaf(x, l->scale, l->constant);
    memcpy(&bits, &y, sizeof bits);
    return qn_clamp((int16_t)(uint16_t)(bits - LINEAR_MIDDLE), e->act_min, e->act_max);
}

/* Return the number of sums from low to high whose outputs differ. */
static int64_t differing(const epilogue_channel *c, const s_epilogue *e, const linear_numbers *l,
                         int64_t low, int64_t high) {
    const s_epilogue own = *e;
    const linear_numbers numbers = *l;
    const int32_t multiplier = c->multiplier, shift = c->shift;
    int64_t differ = 0;
    for (int64_t sum = low; sum <= high; sum++) {
        differ += s_output(&own, (int32_t)sum, multiplier, shift) !=
                  linear_output(&numbers, &own, (int32_t)sum);
    }
    return differ;
}

int main(int argc, char **argv) {
    const int64_t channels = argc > 2 ? atoll(argv[2]) : 100;
    int64_t found = 0, sums = 0, wrong = 0;
    state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    for (int64_t i = 0; i < channels; i++) {
        const s_epilogue e = drawn_epilogue();
        const epilogue_channel c = drawn_channel(i % 256 ? 1 << 20 : 1 << 26);
        linear_numbers l;
        if (!s_find_linear(&c, &e, &l)) {
            continue;
        }
        const int64_t spread = c.most - (c.bias < 0 ? -c.bias : c.bias);
        const int64_t low = l.scale == 0 ? c.bias - spread : -c.most;
        const int64_t high = l.scale == 0 ? c.bias + spread : c.most;
        found++;
        sums += high - low + 1;
        if (differing(&c, &e, &l, low, high)) {
            wrong++;
            printf("multiplier %d shift %d most %lld bias %lld, profile %d offset %d, %d..%d\n",
                   c.multiplier, c.shift, (long long)c.most, (long long)c.bias, e.profile,
                   e.output_offset, e.act_min, e.act_max);
        }
    }
    printf("%lld of %lld channels are linear; %lld sums, %lld channels differ\n", (long long)found,
           (long long)channels, (long long)sums, (long long)wrong);
    return wrong > 0 || 4 * found < channels;
}
