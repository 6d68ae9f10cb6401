"""Headers that firmware includes, with what reading it needs: types, structs and names of calls."""

from __future__ import annotations

from ...functions import FUNCTIONS

_TYPES = """
typedef signed char int8_t; typedef unsigned char uint8_t;
typedef short int16_t; typedef unsigned short uint16_t;
typedef int int32_t; typedef unsigned int uint32_t;
typedef long long int64_t; typedef unsigned long long uint64_t;
typedef int intptr_t; typedef unsigned int uintptr_t;
typedef int8_t int_fast8_t; typedef int int_fast16_t; typedef int int_fast32_t;
typedef uint8_t uint_fast8_t; typedef unsigned uint_fast16_t; typedef unsigned uint_fast32_t;
typedef unsigned int size_t; typedef int ptrdiff_t; typedef int ssize_t;
#ifndef __cplusplus
typedef int wchar_t;
#define bool _Bool
#define true 1
#define false 0
#endif
#define NULL 0
#define offsetof(type, member) __builtin_offsetof(type, member)
#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT16_MIN (-32768)
#define INT16_MAX 32767
#define UINT16_MAX 65535
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295u
#ifdef __cplusplus
#define QEMU_NN_ANY ...
extern "C" {
namespace std {}
#else
#define QEMU_NN_ANY
#endif
"""

_LIBRARY = """
void *memcpy(void *, const void *, size_t); void *memmove(void *, const void *, size_t);
void *memset(void *, int, size_t); void *malloc(size_t); void *calloc(size_t, size_t);
void free(void *); int printf(const char *, ...); int puts(const char *);
void exit(int); int abs(int); int rand(void); void srand(unsigned); void assert(int);
double pow(double, double); double log2(double); double ceil(double); double floor(double);
double sqrt(double); double exp(double); double fabs(double); float sqrtf(float);
float expf(float); float roundf(float); double round(double);
int __SSAT(int, int); int __USAT(int, int); unsigned __CLZ(unsigned);
"""

_ARM = """
typedef int8_t q7_t; typedef int16_t q15_t; typedef int32_t q31_t; typedef int64_t q63_t;
typedef float float32_t; typedef double float64_t;
typedef enum { ARM_MATH_SUCCESS = 0, ARM_MATH_ARGUMENT_ERROR = -1, ARM_MATH_LENGTH_ERROR = -2,
    ARM_MATH_SIZE_MISMATCH = -3 } arm_status;
typedef enum { ARM_CMSIS_NN_SUCCESS = 0, ARM_CMSIS_NN_ARG_ERROR = -1,
    ARM_CMSIS_NN_NO_IMPL_ERROR = -2, ARM_CMSIS_NN_FAILURE = -3 } arm_cmsis_nn_status;
typedef enum { ARM_SIGMOID = 0, ARM_TANH = 1 } arm_nn_activation_type;
typedef struct { void *buf; int32_t size; } cmsis_nn_context;
typedef struct { int32_t n, h, w, c; } cmsis_nn_dims;
typedef struct { int32_t w, h; } cmsis_nn_tile;
typedef struct { int32_t min, max; } cmsis_nn_activation;
typedef struct { const void *data; bool is_int32_bias; } cmsis_nn_bias_data;
typedef struct { int32_t *multiplier; int32_t *shift; } cmsis_nn_per_channel_quant_params;
typedef struct { int32_t multiplier, shift; } cmsis_nn_per_tensor_quant_params;
typedef struct { int32_t *multiplier, *shift; int32_t is_per_channel; } cmsis_nn_quant_params;
typedef struct { int32_t input_offset, output_offset; cmsis_nn_tile stride, padding, dilation;
    cmsis_nn_activation activation; } cmsis_nn_conv_params;
typedef struct { int32_t input_offset, output_offset;
    cmsis_nn_tile stride, padding, padding_offsets, dilation;
    cmsis_nn_activation activation; } cmsis_nn_transpose_conv_params;
typedef struct { int32_t input_offset, output_offset, ch_mult;
    cmsis_nn_tile stride, padding, dilation; cmsis_nn_activation activation;
} cmsis_nn_dw_conv_params;
typedef struct { cmsis_nn_tile stride, padding; cmsis_nn_activation activation;
} cmsis_nn_pool_params;
typedef struct { int32_t input_offset, filter_offset, output_offset;
    cmsis_nn_activation activation; } cmsis_nn_fc_params;
typedef struct { bool adj_x, adj_y; cmsis_nn_fc_params fc_params; } cmsis_nn_bmm_params;
typedef struct { int32_t num_dims; const uint32_t *permutations; } cmsis_nn_transpose_params;
typedef struct { int32_t rank, input_offset, output_offset;
    cmsis_nn_activation input_activation, output_activation; } cmsis_nn_svdf_params;
typedef struct { const int16_t *exp_lut, *one_by_one_lut; } cmsis_nn_softmax_lut_s16;
typedef struct { int32_t input_multiplier, input_shift;
    const void *input_weights, *input_effective_bias;
    int32_t hidden_multiplier, hidden_shift;
    const void *hidden_weights, *hidden_effective_bias; const void *bias;
    arm_nn_activation_type activation_type; } cmsis_nn_lstm_gate;
typedef struct { int32_t time_major, batch_size, time_steps, input_size, hidden_size,
    input_offset, forget_to_cell_multiplier, forget_to_cell_shift, input_to_cell_multiplier,
    input_to_cell_shift, cell_clip, cell_scale_power, output_multiplier, output_shift,
    output_offset; cmsis_nn_lstm_gate forget_gate, input_gate, cell_gate, output_gate;
} cmsis_nn_lstm_params;
typedef struct { void *temp1, *temp2, *cell_state, *hidden_state; } cmsis_nn_lstm_context;
"""

#: Functions of CMSIS that firmware calls between layers, and that are no layers.
COPIES = {"arm_copy_q7": 1, "arm_copy_q15": 2, "arm_copy_q31": 4}
FILLS = {"arm_fill_q7": 1, "arm_fill_q15": 2, "arm_fill_q31": 4}
HELPERS = ("arm_vector_sum_s8",)

#: Names of headers that all give the same.
NAMES = (
    *("stdint.h", "stddef.h", "stdbool.h", "string.h", "stdlib.h", "stdio.h", "math.h"),
    *("assert.h", "limits.h", "cstdint", "cstddef", "cstring", "cstdlib", "cstdio", "cmath"),
    *("cassert", "climits", "arm_math.h", "arm_math_types.h", "arm_nn_types.h"),
    *("arm_nn_math_types.h", "arm_nnfunctions.h", "arm_nnsupportfunctions.h", "arm_nn_tables.h"),
    *("arm_common_tables.h",),
)


def make_header() -> str:
    """Return the text of every header in NAMES."""
    names = [name for name in FUNCTIONS if name.startswith("arm_")]
    sizes = [f"{name}_get_buffer_size" for name in names]
    calls = [*names, *sizes, *COPIES, *FILLS, *HELPERS]
    orders = {name: FUNCTIONS[name].order for name in names}
    pointers = {name for name, order in orders.items() if order and order.returns == "output"}
    declared = "\n".join(
        f"{'void *' if name in pointers else 'int '}{name}(QEMU_NN_ANY);" for name in calls
    )
    end = "#ifdef __cplusplus\n}\n#endif\n"
    guard = "#ifndef QEMU_NN_HEADER\n#define QEMU_NN_HEADER\n"
    return f"{guard}{_TYPES}{_LIBRARY}{_ARM}{declared}\n{end}#endif\n"
