/* Prototypes of the kernels of kernels.inc. */
#ifndef QN_S_ESP_DL_KERNELS_H
#define QN_S_ESP_DL_KERNELS_H

#include "kernels.inc"

#endif
