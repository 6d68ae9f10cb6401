/* Frames, delays, stacks and overlapping sums of the Signal library, plain. */
#include "frames.h"

/* Elements of an array with these sides; -1 if its bytes do not fit 31 bits. */
static int64_t elements(int64_t element, int32_t a, int32_t b, int32_t c) {
    const int64_t most = INT32_MAX / element, rows = (int64_t)a * b;
    return rows > most || rows * c > most ? -1 : rows * c;
}

static int count_check(const qn_signal_frames *p, char *why) {
    const s_range all[] = {
        {"n_frames", p->n_frames, 1, UINT16_MAX},
        {"every", p->every, 1, INT32_MAX - 1},
        {"wait", p->wait, 0, INT32_MAX - 1 - p->every},
    };
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_signal_frames_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_signal_frames *p = params;
    const s_range all[] = {
        {"outer", p->outer, 1, INT32_MAX},
        {"frame_step", p->frame_step, 1, INT32_MAX},
        {"frame_size", p->frame_size, 1, INT32_MAX},
        {"fill", p->fill, 0, 1},
        {"kept_length", p->kept_length, p->frame_step, INT32_MAX},
    };
    int status = count_check(p, why);
    if (status == QN_OK) {
        status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    }
    if (status != QN_OK) {
        return status;
    }
    const int64_t reach = p->frame_size + (int64_t)(p->every - 1) * p->frame_step;
    if (p->kept_length < reach) {
        return qn_deny(why, QN_REFUSED, "kept_length must be at least %lld, is %ld",
                       (long long)reach, (long)p->kept_length);
    }
    const int64_t in = elements(2, p->outer, p->n_frames, p->frame_step);
    const int64_t kept = elements(2, p->outer, p->kept_length, 1);
    const int64_t out = elements(2, p->outer, p->n_frames, p->frame_size);
    if (in < 0 || kept < 0 || out < 0) {
        return s_too_large("frames", why);
    }
    sizes->in[0] = in * 2;
    sizes->in[1] = kept * 2;
    sizes->in[2] = 4;
    sizes->out = out * 2;
    return QN_OK;
}

/* Has no frame come yet? A count that no call has written says so too. */
static int is_first(const qn_signal_frames *p, int32_t count) {
    return count <= 0 || count > p->wait + p->every;
}

/* The count after one more frame. */
static int32_t counted(const qn_signal_frames *p, int32_t count) {
    return is_first(p, count) ? 1 : count == p->wait + p->every ? p->wait + 1 : count + 1;
}

static void fill(const qn_signal_frames *p, const int16_t *in, int16_t *kept) {
    const size_t step = (size_t)p->frame_step, memory = (size_t)p->kept_length;
    for (size_t i = 0; i < memory; i++) {
        kept[i] = in[(i + step - memory % step) % step];
    }
}

static void one_frame(const qn_signal_frames *p, const int16_t *in, int16_t *kept, int32_t count,
                      int16_t *out) {
    const size_t step = (size_t)p->frame_step, memory = (size_t)p->kept_length;
    memmove(kept, kept + step, (memory - step) * sizeof *kept);
    memcpy(kept + memory - step, in, step * sizeof *kept);
    if (count <= p->wait) {
        memset(out, 0, (size_t)p->frame_size * sizeof *out);
        return;
    }
    const size_t since = (size_t)(count - p->wait - 1);
    const int16_t *first = kept + ((size_t)p->every - 1 - since) * step;
    memcpy(out, first, (size_t)p->frame_size * sizeof *out);
}

int s_signal_frames_s16_ref(const void *params, const qn_buffers *b) {
    const qn_signal_frames *p = params;
    const int16_t *in = b->in[0];
    int16_t *kept = b->in[1], *out = b->out;
    int32_t *count = b->in[2], now = *count;
    for (int32_t o = 0; o < p->outer; o++) {
        now = *count;
        for (int32_t f = 0; f < p->n_frames; f++) {
            if (p->fill && is_first(p, now)) {
                fill(p, in, kept);
            }
            now = counted(p, now);
            one_frame(p, in, kept, now, out);
            in += p->frame_step;
            out += p->frame_size;
        }
        kept += p->kept_length;
    }
    *count = now;
    return QN_OK;
}

int s_signal_valid_check(const void *params, qn_sizes *sizes, char *why) {
    sizes->in[0] = 4;
    sizes->out = 1;
    return count_check(params, why);
}

int s_signal_valid_b8_ref(const void *params, const qn_buffers *b) {
    const qn_signal_frames *p = params;
    int32_t *count = b->in[0], valid = 1;
    for (int32_t f = 0; f < p->n_frames; f++) {
        *count = counted(p, *count);
        valid &= *count == p->wait + 1;
    }
    *(uint8_t *)b->out = (uint8_t)valid;
    return QN_OK;
}

static int overlap_check(const qn_signal_overlap *p, int64_t element, qn_sizes *sizes, char *why) {
    const s_range all[] = {
        {"outer", p->outer, 1, INT32_MAX},
        {"n_frames", p->n_frames, 1, UINT16_MAX},
        {"frame_size", p->frame_size, 1, INT32_MAX},
        {"frame_step", p->frame_step, 1, p->frame_size},
    };
    const int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    if (status != QN_OK) {
        return status;
    }
    const int64_t in = elements(element, p->outer, p->n_frames, p->frame_size);
    if (in < 0) {
        return s_too_large("input", why);
    }
    sizes->in[0] = in * element;
    sizes->in[1] = (int64_t)p->outer * p->frame_size * element;
    sizes->out = (int64_t)p->outer * p->n_frames * p->frame_step * element;
    return QN_OK;
}

int s_signal_overlap_add_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return overlap_check(params, 2, sizes, why);
}

int s_signal_overlap_add_f32_check(const void *params, qn_sizes *sizes, char *why) {
    return overlap_check(params, 4, sizes, why);
}

/* Takes one frame's output from the sum, and moves on. */
static void take(const qn_signal_overlap *p, unsigned char *sum, unsigned char *out,
                 size_t element) {
    const size_t step = (size_t)p->frame_step * element;
    const size_t rest = (size_t)(p->frame_size - p->frame_step) * element;
    memcpy(out, sum, step);
    memmove(sum, sum + step, rest);
    memset(sum + rest, 0, step);
}

int s_signal_overlap_add_s16_ref(const void *params, const qn_buffers *b) {
    const qn_signal_overlap *p = params;
    const int16_t *in = b->in[0];
    int16_t *sum = b->in[1], *out = b->out;
    for (int32_t o = 0; o < p->outer; o++, sum += p->frame_size) {
        for (int32_t f = 0; f < p->n_frames; f++, out += p->frame_step) {
            for (int32_t i = 0; i < p->frame_size; i++) {
                sum[i] = qn_sat16(sum[i] + *in++);
            }
            take(p, (unsigned char *)sum, (unsigned char *)out, sizeof *sum);
        }
    }
    return QN_OK;
}

int s_signal_overlap_add_f32_ref(const void *params, const qn_buffers *b) {
    const qn_signal_overlap *p = params;
    const float *in = b->in[0];
    float *sum = b->in[1], *out = b->out;
    for (int32_t o = 0; o < p->outer; o++, sum += p->frame_size) {
        for (int32_t f = 0; f < p->n_frames; f++, out += p->frame_step) {
            for (int32_t i = 0; i < p->frame_size; i++) {
                sum[i] += *in++;
            }
            take(p, (unsigned char *)sum, (unsigned char *)out, sizeof *sum);
        }
    }
    return QN_OK;
}
