/* Depthwise convolutions with few outputs for each of many channels: the image with every channel
 * repeated is one whose channels stand for themselves. Included after gemm/image.h. */
#ifndef QN_S_REPEAT_H
#define QN_S_REPEAT_H

/* Outputs of a channel that are made of copies; 1: none are. One channel, or as many outputs as an
 * engine's vector, are the engine's. */
static inline int32_t repeats_of(const qn_s_depthwise *p) {
    return p->input_c > 1 && p->ch_mult < LANES ? p->ch_mult : 1;
}

/* Bytes of the image with its channels repeated, in whole lines of 64; QN_NOT_TAKEN: too many. */
static inline int64_t repeated_bytes(const image_shape *image, int32_t repeat) {
    const int64_t pixels = (int64_t)image->in_h * image->in_w; /* below 2^31 */
    const int64_t pixel_bytes = (int64_t)image->group * (int64_t)sizeof(input);
    if (repeat == 1) {
        return 0;
    }
    return pixels > MOST_IMAGE_BYTES / pixel_bytes ? QN_NOT_TAKEN
                                                   : (pixels * pixel_bytes + 63) / 64 * 64;
}

/* `base` bytes of scratch memory, with such an image in front. */
static inline int64_t with_repeated(const image_shape *image, int32_t repeat, int64_t base) {
    const int64_t more = repeated_bytes(image, repeat);
    return base < 0 || more < 0 ? QN_NOT_TAKEN : base + more;
}

/* The image to compute on: repeated into `to`, or as it is. */
static const input *repeated(const image_shape *image, int32_t repeat, const input *in, input *to) {
    const int64_t count = (int64_t)image->in_h * image->in_w * image->group / repeat;
    if (repeat == 1) {
        return in;
    }
    for (int32_t r = 0; r < repeat; r++) { /* the longer loop inside */
        for (int64_t i = 0; i < count; i++) {
            to[i * repeat + r] = in[i];
        }
    }
    return to;
}

#endif
