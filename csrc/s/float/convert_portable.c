/* CAST, a loop for each pair of types, without branches. */
#include <string.h>

#include "convert.h"

/* Integers of 8 to 32 bits, by their low bits. */
#define CAST(name, from_type, to_type, value)                      \
    static void name(const void *from, void *to, int32_t length) { \
        const from_type *in = from;                                \
        to_type *out = to;                                         \
        for (int32_t i = 0; i < length; i++) {                     \
            const from_type x = in[i];                             \
            out[i] = value;                                        \
        }                                                          \
    }

/* x truncated to 32 bits, saturated; 0 for NaN. */
static inline int32_t to_s32(float x) {
    const float inside = x > -0x1p31f && x < 0x1p31f ? x : 0.0f;
    const int32_t ends = x >= 0x1p31f ? INT32_MAX : x <= -0x1p31f ? INT32_MIN : 0;
    return (int32_t)inside | ends;
}

static inline uint32_t to_u32(float x) {
    const float inside = x > 0 && x < 0x1p32f ? x : 0.0f;
    return x >= 0x1p32f ? UINT32_MAX : (uint32_t)(int64_t)inside;
}

#define LOW8(x) qn_wrap8((int32_t)(x))
#define LOW16(x) qn_wrap16((int32_t)(x))

CAST(s8_s16, int8_t, int16_t, x)
CAST(s8_s32, int8_t, int32_t, x)
CAST(s8_f32, int8_t, float, x)
CAST(s16_s8, int16_t, int8_t, LOW8(x))
CAST(s16_s32, int16_t, int32_t, x)
CAST(s16_f32, int16_t, float, x)
CAST(s32_s8, int32_t, int8_t, LOW8(x))
CAST(s32_s16, int32_t, int16_t, LOW16(x))
CAST(s32_f32, int32_t, float, (float)x)
CAST(u32_f32, uint32_t, float, (float)x)
CAST(f32_s8, float, int8_t, LOW8(to_s32(x)))
CAST(f32_s16, float, int16_t, LOW16(to_s32(x)))
CAST(f32_s32, float, int32_t, to_s32(x))
CAST(f32_u32, float, uint32_t, to_u32(x))
CAST(b8_s8, uint8_t, int8_t, LOW8(x))
CAST(b8_s16, uint8_t, int16_t, x)
CAST(b8_s32, uint8_t, int32_t, x)
CAST(b8_f32, uint8_t, float, x)
CAST(s8_b8, uint8_t, uint8_t, x != 0)
CAST(s16_b8, uint16_t, uint8_t, x != 0)
CAST(s32_b8, uint32_t, uint8_t, x != 0)
CAST(f32_b8, float, uint8_t, x != 0)

static void copy_1(const void *from, void *to, int32_t n) { memmove(to, from, (size_t)n); }
static void copy_2(const void *from, void *to, int32_t n) { memmove(to, from, (size_t)n * 2); }
static void copy_4(const void *from, void *to, int32_t n) { memmove(to, from, (size_t)n * 4); }

int s_cast_portable(const void *params, const qn_buffers *b) {
    /* From a row's type to a column's: s8, s16, s32, u32, f32, b8; an s32 has the bits of a u32. */
    static void (*const casts[][6])(const void *, void *, int32_t) = {
        [QN_F_S8] = {copy_1, s8_s16, s8_s32, s8_s32, s8_f32, s8_b8},
        [QN_F_S16] = {s16_s8, copy_2, s16_s32, s16_s32, s16_f32, s16_b8},
        [QN_F_S32] = {s32_s8, s32_s16, copy_4, copy_4, s32_f32, s32_b8},
        [QN_F_U32] = {s32_s8, s32_s16, copy_4, copy_4, u32_f32, s32_b8},
        [QN_F_F32] = {f32_s8, f32_s16, f32_s32, f32_u32, copy_4, f32_b8},
        [QN_F_B8] = {b8_s8, b8_s16, b8_s32, b8_s32, b8_f32, s8_b8},
    };
    const qn_s_float_cast *p = params;
    casts[p->from][p->to](b->in[0], b->out, p->length);
    return QN_OK;
}
