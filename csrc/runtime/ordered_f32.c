/* Sums of products of float without an instruction set of its own. */
#include "ordered.h"

#define REAL float
#define BYTES 16
#define ORDERED qn_ordered_f32_any
#include "ordered.inc"
