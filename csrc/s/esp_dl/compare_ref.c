/* Comparisons and updates of slices of ESP-DL, plain. */
#include "compare.h"

#include <string.h>

/* ---- comparisons ---- */

static int compare_check(const qn_dl_compare *p, int64_t element, qn_sizes *sizes, char *why) {
    const s_range all[] = {
        {"block_size", p->block_size, 1, INT32_MAX / 2},
        {"kind", p->kind, QN_DL_EQUAL, QN_DL_LESS_OR_EQUAL},
    };
    sizes->in[0] = sizes->in[1] = p->block_size * element;
    sizes->out = p->block_size;
    return s_in_ranges(all, sizeof all / sizeof all[0], why);
}

int s_dl_compare_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return compare_check(params, 1, sizes, why);
}

int s_dl_compare_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return compare_check(params, 2, sizes, why);
}

static int holds(int32_t kind, int64_t a, int64_t b) {
    switch (kind) {
        case QN_DL_EQUAL:
            return a == b;
        case QN_DL_GREATER:
            return a > b;
        case QN_DL_GREATER_OR_EQUAL:
            return a >= b;
        case QN_DL_LESS:
            return a < b;
        default:
            return a <= b;
    }
}

static int compare(const qn_dl_compare *p, const qn_buffers *b, int is_wide) {
    uint8_t *out = b->out;
    for (int32_t i = 0; i < p->block_size; i++) {
        out[i] =
            (uint8_t)holds(p->kind, s_dl_at(b->in[0], i, is_wide), s_dl_at(b->in[1], i, is_wide));
    }
    return QN_OK;
}

int s_dl_compare_s8_ref(const void *params, const qn_buffers *b) { return compare(params, b, 0); }

int s_dl_compare_s16_ref(const void *params, const qn_buffers *b) { return compare(params, b, 1); }

/* ---- updates of slices ---- */

static int scatter_check(const qn_dl_scatter *p, int64_t element, qn_sizes *sizes, char *why) {
    const s_range all[] = {
        {"block_size", p->block_size, 1, (int32_t)(INT32_MAX / element)},
        {"slices", p->slices, 1, INT32_MAX / 4},
        {"slice", p->slice, 1, INT32_MAX},
        {"kind", p->kind, QN_DL_SET, QN_DL_MIN},
    };
    const int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    const int64_t updates = s_elements(element, (int32_t[]){p->slices, p->slice}, 2);
    sizes->in[0] = sizes->out = p->block_size * element;
    sizes->in[1] = updates * element;
    sizes->weights = p->slices * (int64_t)sizeof(int32_t);
    return status == QN_OK && updates < 0 ? s_too_large("update", why) : status;
}

int s_dl_scatter_s8_check(const void *params, qn_sizes *sizes, char *why) {
    return scatter_check(params, 1, sizes, why);
}

int s_dl_scatter_s16_check(const void *params, qn_sizes *sizes, char *why) {
    return scatter_check(params, 2, sizes, why);
}

static int64_t updated(int32_t kind, int64_t old, int64_t update) {
    switch (kind) {
        case QN_DL_ADD:
            return old + update;
        case QN_DL_MUL:
            return old * update;
        case QN_DL_MAX:
            return old > update ? old : update;
        case QN_DL_MIN:
            return old < update ? old : update;
        default:
            return update;
    }
}

static int scatter(const qn_dl_scatter *p, const qn_buffers *b, int is_wide) {
    const int32_t *offsets = b->weights;
    memmove(b->out, b->in[0], (size_t)p->block_size << is_wide);
    for (int64_t s = 0; s < p->slices; s++) {
        if (offsets[s] < 0 || offsets[s] > p->block_size - p->slice) {
            return QN_REFUSED;
        }
        for (int32_t i = 0; i < p->slice; i++) {
            const int64_t at = (int64_t)offsets[s] + i, old = s_dl_at(b->out, at, is_wide);
            const int64_t update = s_dl_at(b->in[1], s * p->slice + i, is_wide);
            s_dl_put(b->out, at, updated(p->kind, old, update), is_wide);
        }
    }
    return QN_OK;
}

int s_dl_scatter_s8_ref(const void *params, const qn_buffers *b) { return scatter(params, b, 0); }

int s_dl_scatter_s16_ref(const void *params, const qn_buffers *b) { return scatter(params, b, 1); }
