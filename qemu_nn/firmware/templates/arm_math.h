#include <stdint.h>

typedef int8_t q7_t;
typedef int16_t q15_t;
typedef int32_t q31_t;

typedef enum { ARM_MATH_SUCCESS = 0, ARM_MATH_SIZE_MISMATCH = -3 } arm_status;
