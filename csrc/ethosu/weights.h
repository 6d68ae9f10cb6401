/* Weight streams of Ethos-U: the compressed bytes of one stream to weights of 9 bits.
 *
 * Two formats exist. The standard one codes a series of slices: palette, Rice codes, runs of zeros.
 * The fast one (U85) has a header of 32 bytes, then indices of a fixed width. Bits come least
 * significant first. Streams are hostile: the decoder reads no byte after the last one. */
#ifndef QN_ETHOSU_WEIGHTS_H
#define QN_ETHOSU_WEIGHTS_H

#include <stdint.h>

/* Decode a stream into out[capacity]. Return how many weights it has, or a negative EU_STREAM_...
 * status. A stream in the fast format fills all of out. */
int64_t eu_decode_weights(const uint8_t *stream, int64_t bytes, int fast, int16_t *out,
                          int64_t capacity);

enum { EU_STREAM_SHORT = -1, EU_STREAM_LONG = -2, EU_STREAM_MEMORY = -3, EU_STREAM_DAMAGED = -4 };

#endif
