/* Sums of products of double without an instruction set of its own. */
#include "ordered.h"

#define REAL double
#define BYTES 16
#define ORDERED qn_ordered_f64_any
#include "ordered.inc"
