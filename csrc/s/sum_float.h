/* A sum of s8 elements in floats, and the proof that it is exact: all 65536 pairs are tried at plan
 * time. Included by elementwise_avx512.c after exact().
 *
 * With a and b the real factors of either input, the plain sum is, but for a few roundings of 2^-20 of
 * an output,
 *
 *   trunc(v + sign(v) / 2),  v = (x + input_1_offset) * a + (y + input_2_offset) * b
 *
 * The upper halves of a and b have so few bits that their part of v has no rounding; to it comes the
 * lower part, some 2^-14, with the half. Both sums of the two cut toward zero, so that they never
 * pass an integer. Halves a little larger are tried where a tie falls to the wrong side. */
#ifndef QN_S_SUM_FLOAT_H
#define QN_S_SUM_FLOAT_H

enum { SUM_TRIES = 8 };

/* upper, lower: of the factors of x, of y, and of the constant that the offsets make. */
typedef struct sum_scale {
    int32_t proven;
    float upper[3], lower[3], half;
} sum_scale;

typedef struct sum_floats {
    __m512 upper[3], lower[3], half;
    __m512i offset, most, least; /* of the output: halfwords, bytes */
} sum_floats;

static sum_floats sum_floats_of(const qn_s_add *p, const sum_scale *s) {
    sum_floats f = {.half = _mm512_set1_ps(s->half),
                    .offset = _mm512_set1_epi16((int16_t)p->out_offset),
                    .most = _mm512_set1_epi8((int8_t)p->act_max),
                    .least = _mm512_set1_epi8((int8_t)p->act_min)};
    for (int i = 0; i < 3; i++) {
        f.upper[i] = _mm512_set1_ps(s->upper[i]);
        f.lower[i] = _mm512_set1_ps(s->lower[i]);
    }
    return f;
}

/* x and y: without their offsets. */
static inline __m512i sum_of_floats(const sum_floats *f, __m512i x, __m512i y) {
    enum { CUT = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC, SIGN_OR = 0xec };
    const __m512i sign = _mm512_set1_epi32(INT32_MIN);
    __m512 fx = _mm512_cvtepi32_ps(x), fy = _mm512_cvtepi32_ps(y);
    __m512 upper = _mm512_fmadd_ps(fx, f->upper[0], _mm512_fmadd_ps(fy, f->upper[1], f->upper[2]));
    __m512 lower = _mm512_fmadd_ps(fx, f->lower[0], _mm512_fmadd_ps(fy, f->lower[1], f->lower[2]));
    __m512i half = _mm512_ternarylogic_epi32(_mm512_castps_si512(upper),
                                             _mm512_castps_si512(f->half), sign, SIGN_OR);
    lower = _mm512_add_round_ps(lower, _mm512_castsi512_ps(half), CUT);
    return _mm512_cvttps_epi32(_mm512_add_round_ps(upper, lower, CUT));
}

/* 2^(shift - 31) * multiplier, without a function of the library. */
static double sum_factor(int32_t multiplier, int32_t shift) {
    return multiplier / (double)(INT64_C(1) << (31 - shift));
}

/* number: of a try. */
static sum_scale sum_candidate(const qn_s_add *p, int number) {
    const double out = sum_factor(p->out_mult, p->out_shift) * (double)(1 << p->left_shift);
    const double factors[2] = {sum_factor(p->input_1_mult, p->input_1_shift) * out,
                               sum_factor(p->input_2_mult, p->input_2_shift) * out};
    double most = 512 * (factors[0] + factors[1]), grid = 1 << 23, upper[3], lower[3];
    for (; most > 1; most /= 2) {
        grid /= 2; /* multiples of 1 / grid up to `most` have no more than 24 bits */
    }
    for (int i = 0; i < 2; i++) {
        upper[i] = (double)(int64_t)(factors[i] * grid) / grid;
        lower[i] = factors[i] - upper[i];
    }
    upper[2] = p->input_1_offset * upper[0] + p->input_2_offset * upper[1];
    lower[2] = p->input_1_offset * lower[0] + p->input_2_offset * lower[1];
    const int steps = number % 2 ? -(number + 1) / 2 : number / 2;
    return (sum_scale){
        .upper = {(float)upper[0], (float)upper[1], (float)upper[2]},
        .lower = {(float)lower[0], (float)lower[1], (float)lower[2]},
        .half = (float)(0.5 + 0x1p-20 + steps * 0x1p-20),
    };
}

static int sum_holds(const qn_s_add *p, const sum_scale *s) {
    const sum_floats f = sum_floats_of(p, s);
    const exact_sum e = exact_sum_of(p);
    const __m512i offset = _mm512_set1_epi32(p->out_offset);
    const __m512i low = _mm512_set1_epi32(p->act_min), high = _mm512_set1_epi32(p->act_max);
    const __m512i ramp = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (int32_t x = INT8_MIN; x <= INT8_MAX; x++) {
        for (int32_t y = INT8_MIN; y <= INT8_MAX; y += 16) {
            const __m512i a = _mm512_set1_epi32(x),
                          b = _mm512_add_epi32(ramp, _mm512_set1_epi32(y));
            __m512i want = exact(&e, _mm512_add_epi32(a, _mm512_set1_epi32(p->input_1_offset)),
                                 _mm512_add_epi32(b, _mm512_set1_epi32(p->input_2_offset)));
            __m512i got = _mm512_add_epi32(sum_of_floats(&f, a, b), offset);
            want = _mm512_add_epi32(want, offset);
            want = _mm512_max_epi32(_mm512_min_epi32(want, high), low);
            got = _mm512_max_epi32(_mm512_min_epi32(got, high), low);
            if (_mm512_cmpneq_epi32_mask(got, want)) {
                return 0;
            }
        }
    }
    return 1;
}

static void sum_prove(const qn_s_add *p, sum_scale *found) {
    const int near = p->out_offset >= INT8_MIN && p->out_offset <= -INT8_MIN; /* for halfwords */
    for (int number = 0; near && number < SUM_TRIES; number++) {
        *found = sum_candidate(p, number);
        if (sum_holds(p, found)) {
            found->proven = 1;
            return;
        }
    }
}

#endif
