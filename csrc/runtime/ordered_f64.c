/* Sums of products of double, for any instruction set. */
#include "ordered.h"

#define REAL double
#define BYTES 16
#define ORDERED qn_ordered_f64_any
#include "ordered.inc"
