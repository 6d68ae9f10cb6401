/* Prototypes of the kernels of kernels.inc. */
#ifndef QN_ETHOSU_KERNELS_H
#define QN_ETHOSU_KERNELS_H

#include "kernels.inc"

#endif
