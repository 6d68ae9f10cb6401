/* Prototypes of the kernels of kernels.inc. */
#ifndef QN_NPU_KERNELS_H
#define QN_NPU_KERNELS_H

#include "kernels.inc"

#endif
