/* Prototypes of the kernels of kernels.inc. */
#ifndef QN_S_DENSE_KERNELS_H
#define QN_S_DENSE_KERNELS_H

#include "kernels.inc"

#endif
