#include <stdint.h>

typedef int8_t q7_t;
typedef int16_t q15_t;
typedef int32_t q31_t;

typedef enum { ARM_MATH_SUCCESS = 0, ARM_MATH_SIZE_MISMATCH = -3 } arm_status;
typedef enum { ARM_SIGMOID = 0, ARM_TANH = 1 } arm_nn_activation_type;

typedef struct cmsis_nn_context {
    void *buf;
    int32_t size;
} cmsis_nn_context;

typedef struct cmsis_nn_dims {
    int32_t n, h, w, c;
} cmsis_nn_dims;

typedef struct cmsis_nn_tile {
    int32_t w, h;
} cmsis_nn_tile;

typedef struct cmsis_nn_activation {
    int32_t min, max;
} cmsis_nn_activation;

typedef struct cmsis_nn_pool_params {
    cmsis_nn_tile stride, padding;
    cmsis_nn_activation activation;
} cmsis_nn_pool_params;
