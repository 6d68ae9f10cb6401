/* The contract of TFLite_Detection_PostProcess. */
#include "detection.h"

int64_t s_detection_scratch(const void *params) {
    const qn_s_detection *p = params;
    const int64_t boxes = p->boxes;
    const int64_t kept = 2 * (int64_t)p->max_detections * (int64_t)sizeof(s_chosen);
    return boxes * (S_CORNERS + 1) * 4 + (int64_t)s_most_picked(p) * 4 + kept + boxes;
}

static int is_finite(int32_t bits) {
    const float value = qn_float_of_bits((uint32_t)bits);
    return value - value == 0;
}

static int reals(const qn_s_detection *p, char *why) {
    const int32_t scales[] = {p->y_scale_bits, p->x_scale_bits, p->h_scale_bits, p->w_scale_bits};
    const float iou = qn_float_of_bits((uint32_t)p->iou_threshold_bits);
    int fine = is_finite(p->score_threshold_bits) && iou > 0 && iou <= 1;
    for (int i = 0; i < 4; i++) {
        fine = fine && is_finite(scales[i]) && qn_float_of_bits((uint32_t)scales[i]) != 0;
    }
    return fine ? QN_OK
                : qn_deny(why, QN_REFUSED,
                          "the bits must be those of float32: of a finite score_threshold, of an "
                          "iou_threshold above 0 and up to 1, and of finite scales other than 0");
}

/* The device writes besides its outputs, or sorts next to the memory that it asked for. */
static int fits(const qn_s_detection *p, char *why) {
    const int64_t picked = s_most_picked(p), each = p->is_regular ? 1 : p->per_box;
    const int64_t rows = p->is_regular ? p->max_detections : each * each * picked;
    if (rows > p->capacity) {
        return qn_deny(why, QN_REFUSED,
                       "the device writes up to %lld rows, but the outputs have %ld: beside them",
                       (long long)rows, (long)p->capacity);
    }
    const int64_t sorted = p->max_detections + (int64_t)s_least(p->limit, p->boxes);
    const int64_t asked = (int64_t)p->max_detections * p->boxes;
    if (p->is_regular && p->classes > 1 && sorted > asked) {
        return qn_deny(why, QN_REFUSED,
                       "the device sorts up to %lld numbers in memory for %lld: beside it",
                       (long long)sorted, (long long)asked);
    }
    return QN_OK;
}

int s_detection_check(const void *params, qn_sizes *sizes, char *why) {
    const qn_s_detection *p = params;
    const s_range all[] = {
        {"boxes", p->boxes, 1, UINT16_MAX},
        {"box_size", p->box_size, S_CORNERS, UINT16_MAX},
        {"classes", p->classes, 1, UINT16_MAX},
        {"background", p->background, 0, 1},
        {"max_detections", p->max_detections, 1, UINT16_MAX},
        {"limit", p->limit, 1, UINT16_MAX},
        {"per_box", p->per_box, 1, p->classes},
        {"capacity", p->capacity, 1, UINT16_MAX},
        {"is_regular", p->is_regular, 0, 1},
    };
    int status = s_in_ranges(all, sizeof all / sizeof all[0], why);
    status = status == QN_OK ? reals(p, why) : status;
    status = status == QN_OK ? fits(p, why) : status;
    if (status != QN_OK) {
        return status;
    }
    const int64_t in = s_elements(4, (int32_t[]){p->boxes, p->box_size}, 2);
    const int64_t scores = s_elements(4, (int32_t[]){p->boxes, p->classes + p->background}, 2);
    if (in < 0 || scores < 0) {
        return s_too_large(in < 0 ? "input" : "array of scores", why);
    }
    sizes->in[0] = in * 4;
    sizes->in[1] = scores * 4;
    sizes->in[2] = (int64_t)p->boxes * S_CORNERS * 4;
    sizes->out = ((int64_t)p->capacity * (S_CORNERS + 2) + 1) * 4;
    return QN_OK;
}
