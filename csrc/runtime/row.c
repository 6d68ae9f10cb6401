/* Single rows, outside of a plan. */
#include "../common/tiles.h"
#include "../include/qn.h"
#include "modes.h"

void qn_pack_row(const qn_kernel *row, const void *params, const qn_buffers *given, void *packed) {
    const uint64_t modes = qn_enter_modes();
    row->functions->pack(params, given->weights, given->bias, packed);
    qn_leave_modes(modes);
}

int qn_run_row(const qn_kernel *row, const void *params, const qn_buffers *buffers) {
    const uint64_t modes = qn_enter_modes();
    const int status = row->functions->run(params, buffers);
    qn_leave_vectors(row->cpu);
    qn_release_tiles(row->cpu & QN_CPU_AMX);
    qn_leave_modes(modes);
    return status;
}
