/* Constants and tensors that broadcast, plain. */
#include "operand.h"

static int constant_check(const qn_vector *p, int32_t element, qn_sizes *sizes, char *why) {
    sizes->weights = sizes->out = (int64_t)p->length * element;
    return qn_in_range("length", p->length, 1, INT32_MAX / element, why);
}

int s_constant_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return constant_check(params, 1, sizes, why);
}

int s_constant_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return constant_check(params, 2, sizes, why);
}

int s_constant_s8_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    memcpy(b->out, b->weights, (size_t)p->length);
    return QN_OK;
}

int s_constant_s16_ref(const void *params, const qn_buffers *b) {
    const qn_vector *p = params;
    memcpy(b->out, b->weights, (size_t)p->length * 2);
    return QN_OK;
}

/* A side of the input: 1, or that of the output. */
static int side_check(const char *name, int32_t side, int32_t whole, char *why) {
    if (side != 1 && side != whole) {
        return qn_deny(why, QN_REFUSED, "%s must be 1 or %ld, as the output's, is %ld", name,
                       (long)whole, (long)side);
    }
    return QN_OK;
}

static int broadcast_check(const qn_s_broadcast *p, int64_t element, qn_sizes *sizes, char *why) {
    const int32_t in[] = {p->input_n, p->input_h, p->input_w, p->input_c};
    const int32_t out[] = {p->output_n, p->output_h, p->output_w, p->output_c};
    static const char *const ins[] = {"input_n", "input_h", "input_w", "input_c"};
    static const char *const outs[] = {"output_n", "output_h", "output_w", "output_c"};
    int status = QN_OK;
    for (int i = 0; i < 4 && status == QN_OK; i++) {
        status = qn_in_range(outs[i], out[i], 1, UINT16_MAX, why);
        if (status == QN_OK) {
            status = side_check(ins[i], in[i], out[i], why);
        }
    }
    if (status != QN_OK) {
        return status;
    }
    int64_t elements = s_elements(element, out, 4);
    if (elements < 0) {
        return s_too_large("output", why);
    }
    sizes->in[0] = s_elements(element, in, 4) * element;
    sizes->out = elements * element;
    return QN_OK;
}

int s_broadcast_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return broadcast_check(params, 1, sizes, why);
}

int s_broadcast_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return broadcast_check(params, 2, sizes, why);
}

/* Copies of one pixel's channels, or of its only one, `element` bytes each. */
static unsigned char *pixel(const qn_s_broadcast *p, unsigned char *out, const unsigned char *in,
                            size_t element) {
    size_t own = (size_t)p->input_c * element, whole = (size_t)p->output_c * element;
    for (size_t done = 0; done < whole; done += own) {
        memcpy(out + done, in, own);
    }
    return out + whole;
}

static int broadcast(const qn_s_broadcast *p, const qn_buffers *b, size_t element) {
    const unsigned char *in = b->in[0];
    unsigned char *out = b->out;
    for (int32_t n = 0; n < p->output_n; n++) {
        for (int32_t y = 0; y < p->output_h; y++) {
            for (int32_t x = 0; x < p->output_w; x++) {
                int64_t row = (int64_t)(p->input_n > 1 ? n : 0) * p->input_h;
                row = (row + (p->input_h > 1 ? y : 0)) * p->input_w + (p->input_w > 1 ? x : 0);
                out = pixel(p, out, in + (size_t)(row * p->input_c) * element, element);
            }
        }
    }
    return QN_OK;
}

int s_broadcast_s8_ref(const void *params, const qn_buffers *b) { return broadcast(params, b, 1); }

int s_broadcast_s16_ref(const void *params, const qn_buffers *b) { return broadcast(params, b, 2); }
