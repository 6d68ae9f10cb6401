/* Prototypes of all kernels. */
#ifndef QN_ALL_KERNELS_H
#define QN_ALL_KERNELS_H

#include "ethosu/kernels.h"
#include "q/kernels.h"
#include "q/weighted_kernels.h"
#include "s/convolve/kernels.h"
#include "s/dense/kernels.h"
#include "s/elementwise/kernels.h"
#include "s/esp_dl/kernels.h"
#include "s/esp_nn/kernels.h"
#include "s/float/kernels.h"
#include "s/movement/kernels.h"
#include "s/pooling/kernels.h"
#include "s/recurrent/kernels.h"
#include "s/reduce/kernels.h"
#include "s/signal/kernels.h"
#include "s/tables/kernels.h"
#include "wuqi/kernels.h"

#endif
