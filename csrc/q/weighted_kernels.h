/* Prototypes of the kernels of weighted_kernels.inc. */
#ifndef QN_Q_WEIGHTED_KERNELS_H
#define QN_Q_WEIGHTED_KERNELS_H

#include "weighted_kernels.inc"

#endif
