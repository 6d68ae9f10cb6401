/* Prototypes of the kernels of kernels.inc. */
#ifndef QN_Q_KERNELS_H
#define QN_Q_KERNELS_H

#include "kernels.inc"

#endif
