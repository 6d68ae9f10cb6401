/* Boxes from their encodings, and the best of those that do not overlap: plain. */
#include <string.h>

#include "detection.h"

/* Boxes are y, x of a corner and y, x of the other one. picked: boxes, the best first. */
typedef struct memory {
    float *boxes, *scores;
    int32_t *picked;
    s_chosen *kept, *merged;
    uint8_t *active;
} memory;

static memory memory_of(const qn_s_detection *p, void *scratch) {
    memory m = {.boxes = scratch};
    m.scores = m.boxes + (int64_t)p->boxes * S_CORNERS;
    m.picked = (int32_t *)(m.scores + p->boxes);
    m.kept = (s_chosen *)(m.picked + s_most_picked(p));
    m.merged = m.kept + p->max_detections;
    m.active = (uint8_t *)(m.merged + p->max_detections);
    return m;
}

/* e^x of a double: 0 and infinity where it is none, and else within its last place. */
static double exponential(double x) {
    if (x != x || x > 0x1.62e42fefa39efp9 || x < -746) {
        return x > 0 ? (double)qn_infinity() : x < 0 ? 0 : x;
    }
    int n;
    const qn_pair rest = qn_minus_ln2(x, &n), power = qn_series(rest, 1, 1);
    return (power.hi + power.lo) * qn_power_of_two(n / 2) * qn_power_of_two(n - n / 2);
}

/* A middle and half of a side, of one axis. */
static float middle(float at, int32_t scale_bits, float size, float anchor) {
    const double steps = (double)at / (double)qn_float_of_bits((uint32_t)scale_bits);
    return (float)(steps * (double)size + (double)anchor);
}

static float half(float of, int32_t scale_bits, float size) {
    const double power = exponential((double)of / (double)qn_float_of_bits((uint32_t)scale_bits));
    return (float)(0.5 * power * (double)size);
}

/* 0 if a box has no area. */
static int decode(const qn_s_detection *p, const qn_buffers *b, float *boxes) {
    const float *in = b->in[0], *anchor = b->in[2];
    int fine = 1;
    for (int32_t i = 0; i < p->boxes;
         i++, in += p->box_size, anchor += S_CORNERS, boxes += S_CORNERS) {
        const float y = middle(in[0], p->y_scale_bits, anchor[2], anchor[0]);
        const float x = middle(in[1], p->x_scale_bits, anchor[3], anchor[1]);
        const float h = half(in[2], p->h_scale_bits, anchor[2]);
        const float w = half(in[3], p->w_scale_bits, anchor[3]);
        boxes[0] = y - h;
        boxes[1] = x - w;
        boxes[2] = y + h;
        boxes[3] = x + w;
        fine = fine && !(boxes[0] >= boxes[2] || boxes[1] >= boxes[3]);
    }
    return fine;
}

static float area(const float *box) { return (box[2] - box[0]) * (box[3] - box[1]); }

/* Overlap of two boxes on one axis, their corners being two apart. */
static float shared(const float *a, const float *b) {
    const float low = a[0] < b[0] ? b[0] : a[0], high = b[2] < a[2] ? b[2] : a[2];
    return high - low < 0 ? 0 : high - low;
}

static float overlap(const float *a, const float *b) {
    const float one = area(a), other = area(b);
    if (one <= 0 || other <= 0) {
        return 0;
    }
    const float common = shared(a, b) * shared(a + 1, b + 1);
    return common / (one + other - common);
}

/* Fills m->picked by m->scores; returns how many there are. */
static int32_t pick(const qn_s_detection *p, const memory *m) {
    const float score = qn_float_of_bits((uint32_t)p->score_threshold_bits);
    const float iou = qn_float_of_bits((uint32_t)p->iou_threshold_bits);
    const int32_t most = s_most_picked(p);
    for (int32_t i = 0; i < p->boxes; i++) {
        m->active[i] = m->scores[i] >= score;
    }
    for (int32_t count = 0; count < most; count++) {
        int32_t best = -1;
        for (int32_t i = 0; i < p->boxes; i++) {
            if (m->active[i] && (best < 0 || m->scores[i] > m->scores[best])) {
                best = i;
            }
        }
        if (best < 0) {
            return count;
        }
        const float *box = m->boxes + (int64_t)best * S_CORNERS;
        m->picked[count] = best;
        m->active[best] = 0;
        for (int32_t i = 0; i < p->boxes; i++) {
            if (m->active[i] && overlap(box, m->boxes + (int64_t)i * S_CORNERS) > iou) {
                m->active[i] = 0;
            }
        }
    }
    return most;
}

static void put(const qn_s_detection *p, const memory *m, float *out, int64_t row, s_chosen one) {
    const int64_t capacity = p->capacity;
    memcpy(out + row * S_CORNERS, m->boxes + (int64_t)one.box * S_CORNERS,
           S_CORNERS * sizeof(float));
    out[capacity * S_CORNERS + row] = (float)one.kind;
    out[capacity * (S_CORNERS + 1) + row] = one.score;
}

/* The best of `have` that were kept and of `count` boxes of a class, which both are in order; how
 * many. */
static int32_t merge(const qn_s_detection *p, memory *m, int32_t have, int32_t count,
                     int32_t kind) {
    int32_t old = 0, fresh = 0, made = 0;
    for (; made < p->max_detections && (old < have || fresh < count); made++) {
        const int32_t box = fresh < count ? m->picked[fresh] : -1;
        if (box < 0 || (old < have && m->kept[old].score >= m->scores[box])) {
            m->merged[made] = m->kept[old++];
        } else {
            m->merged[made] = (s_chosen){m->scores[box], box, kind};
            fresh++;
        }
    }
    s_chosen *before = m->kept;
    m->kept = m->merged;
    m->merged = before;
    return made;
}

static int32_t regular(const qn_s_detection *p, const float *in, memory *m, float *out) {
    const int64_t row = p->classes + p->background;
    int32_t have = 0;
    for (int32_t kind = 0; kind < p->classes; kind++) {
        for (int32_t i = 0; i < p->boxes; i++) {
            m->scores[i] = in[i * row + kind + p->background];
        }
        have = merge(p, m, have, pick(p, m), kind);
    }
    for (int32_t i = 0; i < have; i++) {
        put(p, m, out, i, m->kept[i]);
    }
    return have;
}

/* The best of a box's classes after `last`, of equal ones the first. */
static s_chosen next_class(const qn_s_detection *p, const float *scores, const s_chosen *last) {
    s_chosen best = {.kind = -1};
    for (int32_t kind = 0; kind < p->classes; kind++) {
        const float score = scores[kind];
        const int after = score < last->score || (score == last->score && kind > last->kind);
        if ((last->kind < 0 || after) && (best.kind < 0 || score > best.score)) {
            best = (s_chosen){score, last->box, kind};
        }
    }
    return best;
}

/* Number of detections; -1 if a score is NaN. */
static int32_t fast(const qn_s_detection *p, const float *in, const memory *m, float *out) {
    const int64_t row = p->classes + p->background;
    for (int32_t i = 0; i < p->boxes; i++) {
        const float *scores = in + i * row + p->background;
        m->scores[i] = scores[0];
        for (int32_t kind = 0; kind < p->classes; kind++) {
            if (scores[kind] != scores[kind]) {
                return -1;
            }
            m->scores[i] = scores[kind] > m->scores[i] ? scores[kind] : m->scores[i];
        }
    }
    const int32_t count = pick(p, m);
    int32_t written = 0;
    for (int32_t i = 0; i < count; i++) {
        s_chosen one = {0, m->picked[i], -1};
        for (int32_t place = 0; place < p->per_box; place++, written++) {
            one = next_class(p, in + one.box * row + p->background, &one);
            put(p, m, out, (int64_t)p->per_box * written + place, one);
        }
    }
    return written;
}

int s_detection_ref(const void *params, const qn_buffers *b) {
    const qn_s_detection *p = params;
    const int64_t rows = (int64_t)p->capacity * (S_CORNERS + 2);
    memory m = memory_of(p, b->scratch);
    float *out = b->out;
    memset(out, 0, (size_t)(rows + 1) * sizeof(float));
    if (!decode(p, b, m.boxes)) {
        return QN_REFUSED;
    }
    const int32_t count =
        p->is_regular ? regular(p, b->in[1], &m, out) : fast(p, b->in[1], &m, out);
    if (count < 0) {
        return QN_REFUSED;
    }
    out[rows] = (float)count;
    return QN_OK;
}
