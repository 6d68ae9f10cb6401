/* Compares epilogues of two multiplications (csrc/s/epilogue_float.inc) with the integers, for every sum
 * of drawn channels. Needs AVX-512.
 *
 * Lemma. Both functions of the sum never fall: each operation rounds toward zero, and this keeps the
 * order, as scale, rest and half are not negative. So the functions are equal after clamping if they are
 * equal on both sides of each step. find_floats() computes both functions there. This program tests
 * find_floats().
 *
 * usage: floats SEED CHANNELS */
#include "channels.h"
#include "gemm/target_avx512.inc"

#include "s/epilogue_avx512.inc"

/* Return the number of sums from low to high whose outputs differ. */
static int64_t differing(const epilogue_channel *c, const s_epilogue *e, const channel_numbers *n,
                         int64_t low, int64_t high) {
    epilogue_vector floats = {0}, exact = {0};
    const channel_numbers integers = exact_numbers(c, e->profile);
    const __m512i offset = _mm512_set1_epi32(e->output_offset);
    const __m512i most = _mm512_set1_epi32(e->act_max), least = _mm512_set1_epi32(e->act_min);
    const __m512i end = _mm512_set1_epi32((int32_t)high);
    __m512i sums =
        _mm512_add_epi32(_mm512_set1_epi32((int32_t)low),
                         _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    int64_t differ = 0;
    set_all_lanes(&floats, n);
    set_all_lanes(&exact, &integers);
    for (int64_t i = low; i <= high; i += 16) {
        __m512i a = _mm512_add_epi32(requantized_float(&floats.floats, sums), offset);
        __m512i b = _mm512_add_epi32(requantized_double(&exact.twice, sums), offset);
        a = _mm512_max_epi32(_mm512_min_epi32(a, most), least);
        b = _mm512_max_epi32(_mm512_min_epi32(b, most), least);
        const __mmask16 inside = _mm512_cmple_epi32_mask(sums, end);
        differ += __builtin_popcount(_mm512_mask_cmpneq_epi32_mask(inside, a, b));
        sums = _mm512_add_epi32(sums, _mm512_set1_epi32(16));
    }
    return differ;
}

int main(int argc, char **argv) {
    const int64_t channels = argc > 2 ? atoll(argv[2]) : 100;
    int64_t found = 0, all = 0, wrong = 0, doubles = 0;
    state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    for (int64_t i = 0; i < channels; i++) {
        s_epilogue e = drawn_epilogue();
        const epilogue_channel c = drawn_channel(i % 256 ? 1 << 20 : 1 << 26);
        channel_numbers n;
        e.profile &= ~1; /* double rounding */
        if (e.output_offset > 128) {
            continue;
        }
        doubles++;
        if (!find_floats(&c, &e, &n)) {
            continue;
        }
        const int64_t spread = c.most - (c.bias < 0 ? -c.bias : c.bias);
        const int64_t low = n.floats.scale == 0 ? c.bias - spread : -c.most;
        const int64_t high = n.floats.scale == 0 ? c.bias + spread : c.most;
        found++;
        all += high - low + 1;
        if (differing(&c, &e, &n, low, high)) {
            wrong++;
            printf("multiplier %d shift %d most %lld bias %lld, offset %d, %d..%d\n", c.multiplier,
                   c.shift, (long long)c.most, (long long)c.bias, e.output_offset, e.act_min,
                   e.act_max);
        }
    }
    printf("%lld of %lld channels have floats; %lld sums, %lld channels differ\n", (long long)found,
           (long long)doubles, (long long)all, (long long)wrong);
    return wrong > 0 || 4 * found < doubles;
}

#include "gemm/target_end.inc"
