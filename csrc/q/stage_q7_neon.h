/* The output stage of q7 on 4 lanes: shift, saturate, rectify; up to 16 channels at a time. */
#ifndef QN_Q_STAGE_Q7_NEON_H
#define QN_Q_STAGE_Q7_NEON_H

#include <string.h>

#include "../gemm/unroll.h"

typedef int8_t element;

typedef struct stage {
    int32x4_t left; /* a shift to the left, so never above 0 */
    int8x16_t least;
} stage;

static inline stage stage_of(int32_t out_shift, int32_t relu) {
    stage s = {vdupq_n_s32(-out_shift), vdupq_n_s8(relu ? 0 : INT8_MIN)};
    return s;
}

/* Two vectors as halfwords. */
static inline int16x8_t stage_pack(const stage *s, int32x4_t a, int32x4_t b) {
    return vcombine_s16(vqmovn_s32(vshlq_s32(a, s->left)), vqmovn_s32(vshlq_s32(b, s->left)));
}

/* `count` channels of one pixel. */
static inline void stage_store(int8_t *out, int8x16_t bytes, int count) {
    if (count == 16) {
        vst1q_s8(out, bytes);
        return;
    }
    int8_t each[16];
    vst1q_s8(each, bytes);
    memcpy(out, each, (size_t)count);
}

QN_INLINE void stage_put(const stage *s, int8_t *out, int64_t next, int count, const int pixels,
                         const int vectors, int32x4_t acc[16][4]) {
    QN_UNROLL
    for (int p = 0; p < pixels; p++) {
        int32x4_t *of = acc[p];
        int16x8_t low = stage_pack(s, of[0], of[vectors > 1 ? 1 : 0]);
        int16x8_t high = vectors > 2 ? stage_pack(s, of[2], of[3]) : low;
        int8x16_t bytes = vcombine_s8(vqmovn_s16(low), vqmovn_s16(high));
        stage_store(out + p * next, vmaxq_s8(bytes, s->least), count);
    }
}

#endif
