/* Counts the AMX instructions of a q7 convolution of stride 1 that keeps its size, by the model of
 * these instructions.
 *
 *   amx_counts HEIGHT WIDTH IN_CHANNELS OUT_CHANNELS KERNEL
 *
 * Prints products, loads and stores of tiles, the stores that lay out blocks, and the estimates for
 * tiles and for vectors. */
#include "q/dense_q7_amx.c"

#include <stdio.h>
#include <stdlib.h>

static void *zeros(int64_t bytes) { return calloc(1, ((size_t)bytes + 63) / 64 * 64); }

static void *aligned(int64_t bytes) { return aligned_alloc(64, ((size_t)bytes + 63) / 64 * 64); }

int main(int count, char **arguments) {
    int32_t n[5];
    for (int i = 0; i < 5; i++) {
        n[i] = i + 1 < count ? atoi(arguments[i + 1]) : 1;
    }
    const qn_conv p = {.dim_im_in_x = n[1],
                       .dim_im_in_y = n[0],
                       .ch_im_in = n[2],
                       .ch_im_out = n[3],
                       .dim_kernel_x = n[4],
                       .dim_kernel_y = n[4],
                       .padding_x = n[4] / 2,
                       .padding_y = n[4] / 2,
                       .stride_x = 1,
                       .stride_y = 1,
                       .out_shift = 7,
                       .dim_im_out_x = n[1],
                       .dim_im_out_y = n[0]};
    const image_shape image = image_of(&p);
    const gemm_shape shape = convolve_shape(&p);
    const tile_layout layout = tile_layout_of(&shape);
    const tile_costs costs = {.put = 44, .vector = 5, .joins = 1};
    const int64_t in = (int64_t)n[0] * n[1] * n[2], out = (int64_t)n[0] * n[1] * n[3];
    const qn_buffers b = {.in = {aligned(in)},
                          .out = zeros(out),
                          .weights = zeros((int64_t)n[3] * n[2] * n[4] * n[4]),
                          .bias = zeros(n[3]),
                          .scratch = aligned(tile_scratch(&shape, image_bytes(&image))),
                          .packed = aligned(convolve_packed(&p))};
    convolve_pack(&p, b.weights, b.bias, (void *)b.packed);
    convolve_run(&p, &b);
    printf("%ld %ld %ld %ld %ld %ld\n", model_counted.dots, model_counted.loads,
           model_counted.stores, (long)pieces_laid_out(&shape, &layout),
           (long)tile_cost(&shape, &layout, costs.put), (long)vector_cost(&shape, &costs));
    return 0;
}
