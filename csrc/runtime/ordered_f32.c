/* Sums of products of float, for any instruction set. */
#include "ordered.h"

#define REAL float
#define BYTES 16
#define ORDERED qn_ordered_f32_any
#include "ordered.inc"
