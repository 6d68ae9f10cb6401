/* The layout of maps in the memory of a program on rows. */
#ifndef QN_ETHOSU_LAYOUT_H
#define QN_ETHOSU_LAYOUT_H

#include "run.h"

/* Change maps of bricks to dense ones if no result shows it, and find out if a run reads bytes
 * that nothing has written. operations: those that run. */
void eu_lay_out(eu_program *program, int32_t operations);

#endif
