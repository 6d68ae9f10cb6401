/* TFLite_Detection_PostProcess of TensorFlow Lite Micro: boxes from their encodings, and the best
 * of those that do not overlap.
 *
 *   a box    y = enc_y / y_scale * anchor_h + anchor_y, half_h = 0.5 * exp(enc_h / h_scale) * anchor_h,
 *            in double, each rounded to float32 once; from y - half_h to y + half_h in float32; so x, w
 *   overlap  common / (area + area' - common), in this order in float32; 0 if an area is not above 0
 *   chosen   of scores >= score_threshold the largest first, of equal ones the first in memory; each
 *            takes those away that overlap it by more than iou_threshold; at most `limit` and
 *            max_detections
 *   regular  chooses for each class, and keeps the max_detections best of all; of equal ones that of the
 *            lower class
 *   fast     chooses by each box's largest score, and has the per_box best classes of each; as the
 *            device counts them, row j of the k-th such class is row per_box * (k + j) + j's place
 *
 * out holds boxes [capacity][4] (y, x of the first corner, then of the other), classes [capacity],
 * scores [capacity], and how many there are; what is not written is 0: after the last one, which
 * the device writes too where it is regular, and else leaves what its memory held.
 *
 * Axes: in[0] encodings [boxes][box_size] (y, x, h, w first), in[1] scores [boxes][background +
 * classes], in[2] anchors [boxes][4] (y, x, h, w).
 * Ranges: boxes, box_size, classes, max_detections, limit, per_box and capacity 1..65535, box_size
 * from 4 on, per_box up to classes, background 0 or 1; thresholds and scales are float32 as bits:
 * finite, scales not 0, iou_threshold in 0..1 and not 0. The last row that may be written lies
 * within capacity, and what the device sorts in the memory that it asks for, boxes * max_detections
 * numbers. The call fails for a box that has no area, as the device's does, and where fast scores
 * are no numbers. In place: no. Scratch: boxes and what is chosen. All cores and both roundings
 * give the same bits; a device whose compiler fuses products and sums differs in last bits of
 * overlaps. */
#ifndef QN_S_DETECTION_H
#define QN_S_DETECTION_H

#include "../../common/real.h"
#include "../affine.h"
#include "kernels.h"

enum { S_CORNERS = 4 };

/* A detection: its score, which box it is, and of which class. */
typedef struct s_chosen {
    float score;
    int32_t box, kind;
} s_chosen;

static inline int32_t s_least(int32_t a, int32_t b) { return a < b ? a : b; }

static inline int32_t s_most_picked(const qn_s_detection *p) {
    return s_least(s_least(p->limit, p->max_detections), p->boxes);
}

#endif
