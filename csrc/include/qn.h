/* The whole C interface of qemu_nn.
 *
 * This file and those it includes are also the cffi declaration: qemu_nn/_build.py drops the lines
 * that start with '#', so every constant is an enum with a literal value and nothing here needs a
 * preprocessor. */
#ifndef QN_H
#define QN_H

#include <stddef.h>
#include <stdint.h>

#include "qn_params.h"
#include "qn_params_e.h"
#include "qn_params_ethosu.h"
#include "qn_params_f.h"
#include "qn_params_movement.h"
#include "qn_params_s.h"
#include "qn_params_signal.h"

/* Status of a contract. QN_SIZE_MISMATCH is the device's own ARM_MATH_SIZE_MISMATCH; QN_REFUSED
 * marks parameters for which the device would leave its buffers, or does nothing at all. QN_FORKED,
 * QN_STOPPED: see qn_run(). */
enum { QN_OK = 0, QN_REFUSED = -1, QN_SIZE_MISMATCH = -3, QN_FORKED = -100, QN_STOPPED = -102 };

enum { QN_INPUTS = 3, QN_WHY = 256 };

/* Instruction sets of the host that fast rows need, as bits from old to new: a cap on one allows
 * those below it. AVX2 comes with FMA; NEON means dot products, I8MM those of matrices, where
 * faster. */
enum qn_cpu {
    QN_CPU_ANY = 0,
    QN_CPU_AVX2 = 1,
    QN_CPU_AVXVNNI = 2,
    QN_CPU_AVX512VNNI = 4,
    QN_CPU_AMX = 8,
    QN_CPU_NEON = 16,
    QN_CPU_I8MM = 32
};

/* A profile says whose bits they are: 8 * release + 2 * path + rounding. Releases with a number
 * have bits of their own; the rules of qemu_nn/releases/ compute the calls of all others as those.
 * Rows claim sets of profiles as a mask: bit 5 * release + path, or + QN_PATH_MVE_SINGLE. So there
 * is room for the releases 0..11. */
enum {
    QN_RELEASE_560 = 0,
    QN_RELEASE_590 = 1,
    QN_RELEASE_700 = 2,
    QN_RELEASE_MAIN_2026_07 = 3,
    QN_RELEASE_530 = 4,
    QN_RELEASE_540 = 5,
    QN_RELEASE_570 = 6,
    QN_RELEASE_580 = 7,
    QN_RELEASE_600 = 8
};
enum { QN_PATH_M0 = 0, QN_PATH_SCALAR = 1, QN_PATH_MVE = 2, QN_PATH_DSP = 3 };

/* The place in a mask of QN_PATH_MVE with rounding 1, which rows claim apart. */
enum { QN_PATH_MVE_SINGLE = 4 };

/* Roundings: of the q7 and q15 API nearest or truncating, of the s8 and s16 API once at the end, or
 * twice, as TFLite does. Zero is what Arm ships. */
enum { QN_NEAREST = 0, QN_TRUNCATE = 1, QN_DOUBLE = 0, QN_SINGLE = 1 };

/* The profile of the NPU, which is not of CMSIS, and its bit in a mask of profiles: the last. */
enum { QN_PROFILE_NPU = 1023, QN_NPU_BIT = 63 };

/* A profile that no row claims: layers with a multiplier of 2^30 whose outputs are rounded to
 * nearest, halves to even. The rows of ESP-DL call those of the s8 API with it. */
enum { QN_PROFILE_HALF_EVEN = 1022 };

/* The memory one call works on. Weights and bias may be NULL where the op has none.
 * Only ops whose contract says so write to an input. */
typedef struct qn_buffers {
    void *in[3];
    const void *weights;
    const void *bias;
    void *out;
    void *scratch;
    const void *packed;   /* what pack() made of weights and bias; NULL where the row has none */
    int32_t sign_flipped; /* in[0] or out, by these traits */
} qn_buffers;

/* Demands of a contract: bytes of every buffer; destroys: bytes at the start of in[0] that the
 * device overwrites; in_place: out may start at the address of an input of its own size. */
typedef struct qn_sizes {
    int64_t in[3];
    int64_t weights, bias, out;
    int64_t destroys;
    int32_t in_place;
} qn_sizes;

/* One axis of an op's windows. in, out, pad: fields of the parameters; a part of a call has others.
 * */
typedef struct qn_axis {
    int32_t *in, *out, *pad;
    int32_t kernel, stride, dilation;
} qn_axis;

/* The extent of a call. length: the field of an element-wise op; NULL: the op has windows. step:
 * the bounds of parts are multiples of so many rows or pixels, so that their bits are those of the
 * whole. */
typedef struct qn_extent {
    int32_t *length;
    qn_axis y, x;
    int32_t step;
} qn_extent;

/* An op: a computation on one element type. params: the struct of its parameters, and its bytes.
 * check() fills sizes and returns QN_OK, or writes a sentence into why[QN_WHY] and returns another
 * status. It is called once, at plan time. split() finds the extent in parameters, a copy that the
 * caller changes, and returns QN_OK; or QN_REFUSED: the call is not split. */
typedef struct qn_op {
    const char *arithmetic, *op, *type, *params;
    int64_t params_bytes;
    int (*check)(const void *params, qn_sizes *sizes, char *why);
    int (*split)(void *params, qn_extent *extent);
} qn_op;

/* The functions of a row. scratch(): bytes it wants besides its arrays; QN_NOT_TAKEN: the row does
 * not take these parameters, another one must. Scratch starts at a multiple of 64 bytes for fast
 * rows. packed(): bytes that pack() fills from weights and bias, once, at plan time; 0: none.
 * traits(): QN_PAYS: no row further down is faster. QN_SIGN_FLIPPED_...: the image or the output
 * may lie in memory with all sign bits flipped. QN_PARTS: parts of a call on tiles read what the
 * whole has packed. Fast rows never write to an input, and clamp to 0 from below where params.relu
 * is set; plain rows and models do not look at it. */
typedef struct qn_functions {
    int (*run)(const void *params, const qn_buffers *buffers);
    int64_t (*scratch)(const void *params);
    int64_t (*packed)(const void *params);
    void (*pack)(const void *params, const void *weights, const void *bias, void *packed);
    int32_t (*traits)(const void *params);
} qn_functions;

/* A row: how it is computed. kind is "plain" (the definition), "model" (the device's own way,
 * instruction by instruction) or "fast" (this host's way). symbol: the name in the list of kernels,
 * of run() or of all functions. */
typedef struct qn_kernel {
    const qn_op *op;
    char kind[8], variant[16], symbol[48]; /* text in place: a loader has nothing to do for it */
    uint64_t profiles;
    uint32_t cpu;
    const qn_functions *functions;
} qn_kernel;

enum {
    QN_NOT_TAKEN = -1,
    QN_PAYS = 1,
    QN_SIGN_FLIPPED_IN = 2,
    QN_SIGN_FLIPPED_OUT = 4,
    QN_PARTS = 8
};

/* The instruction sets that this host has and its operating system lets us use. */
uint32_t qn_cpu_features(void);

/* Makes multiply-accumulates as fast as one instruction set can, which this host must have, and
 * returns how many; 0 if it has none for factors of so many bits. */
int64_t qn_peak(uint32_t feature, int32_t bits, int64_t rounds);

int qn_kernel_count(void);
const qn_kernel *qn_kernel_at(int index);
int qn_run_row(const qn_kernel *row, const void *params, const qn_buffers *buffers);
void qn_pack_row(const qn_kernel *row, const void *params, const qn_buffers *given, void *packed);

/* A planned network. All offsets count bytes from the start of the arena, except `from` of a load
 * (in the sample's own input or state). A step without a kernel is a jump: the run goes on with
 * step `out`, where in[0] is -1 always, else if the byte at in[0] is 0. */
typedef struct qn_step {
    const qn_kernel *kernel;
    const void *params;
    const void *weights;
    const void *bias;
    const void *packed;
    int64_t weights_bytes, bias_bytes, packed_bytes;
    int64_t in[3];
    int64_t out, scratch;
    int64_t spare,
        spare_bytes; /* bytes > 0: work on a copy of in[0] there, as the call destroys it */
    int32_t sign_flipped;
} qn_step;

/* Part of a sample that one thread computes. last == first + 1 and a part: units
 * unit..last_unit-1 (see qn_units) of that step, as a call of its own. No part: the steps
 * first..last-1 in turn, with the stores of these and of the step before them. after: tasks, from
 * the first on, that must be done before. */
typedef struct qn_task {
    const qn_step *part;
    int64_t first, last, after;
    int32_t unit, last_unit;
} qn_task;

typedef struct qn_load {
    int64_t from, to, bytes;
} qn_load;

typedef struct qn_store {
    int64_t after; /* index of the step after which these bytes leave the arena */
    int64_t from, bytes;
} qn_store;

typedef struct qn_plan {
    const qn_step *steps;
    const qn_load *inputs;
    const qn_load *states;
    const qn_store *stores; /* ascending in `after` */
    const qn_task *tasks;   /* of a sample without states; none: one thread computes it */
    int64_t step_count, input_count, state_count, store_count, task_count;
    int64_t arena_bytes;  /* all of the arena */
    int64_t cleared;      /* bytes at its start that are zero when a sample starts */
    int64_t input_bytes;  /* of one sample at one time step */
    int64_t state_bytes;  /* of one sample */
    int64_t look_every;   /* steps after which the clock is looked at: a millisecond, about */
    int32_t jumps, tiles; /* are some steps jumps? do some leave tiles configured? */
} qn_plan;

/* Splits of a call of a fast row: rows of its output, its pixels where windows are single
 * pixels, or elements. grain: what the bounds of parts should be multiples of. 0: it is not split.
 * */
int32_t qn_units(const qn_kernel *kernel, const void *params, int32_t *grain);

/* Makes units first..last-1 of a step a step of their own: its parameters in `params`, of the op's
 * own struct, its addresses those of the step moved on, and the bytes of `scratch` that it wants at
 * the address of the step's. Packed weights are shared. QN_REFUSED: there is no such part. */
int qn_split(const qn_step *step, int32_t first, int32_t last, void *params, qn_step *part,
             int64_t *scratch);

/* Checks every size of a plan, once. Returns QN_OK, or a status with the step and a sentence. */
int qn_plan_check(const qn_plan *plan, int64_t *step, char *why);

/* Asked every 50 ms or so by the thread that has called C, between two steps; not 0: stop. */
typedef int32_t qn_ask(void);

/* Runs a checked plan over samples x times inputs. x: [samples][times][input_bytes], state:
 * [samples][state_bytes] or NULL, outputs[s]: [samples][times][bytes of store s]. The arena is
 * the caller's; two calls with different arenas may run at the same time. Samples first..last-1
 * are computed: x, state and outputs are those of the whole batch. QN_STOPPED: ask said so. Another
 * status is that of a step that has failed; failed[2], unless it is NULL, then has sample x times +
 * time, and the step. */
int qn_execute(const qn_plan *plan, void *arena, int64_t first, int64_t last, int64_t times,
               const void *x, const void *state, void *const *outputs, qn_ask *ask,
               int64_t *failed);

/* Threads that share calls: the caller's and those of the pool, which start with the first call. */
typedef struct qn_thread_pool qn_thread_pool;

qn_thread_pool *qn_thread_pool_new(int32_t threads); /* NULL: there is no memory */

/* No call may be under way. In a child of fork() only memory is freed. */
void qn_thread_pool_free(qn_thread_pool *pool);

/* Common parts of the calls of a plan: who computes, and in whose memory. pool: NULL for the
 * caller's thread alone. arenas: one for each thread. begun: an int for each task. shared: samples
 * x times from which the pool is asked. failed: as for qn_execute(). */
typedef struct qn_call {
    const qn_plan *plan;
    qn_thread_pool *pool;
    void *const *arenas;
    void *const *outputs;
    void *begun;
    int64_t shared;
    qn_ask *ask;
    int64_t *failed;
} qn_call;

/* As qn_execute() over all samples; threads share samples, and those left over by tasks. While the
 * pool works for another caller, the caller's thread computes alone. So it does after a failure, so
 * that the first step that fails is told, for any number of threads. QN_FORKED: this is a child of
 * the process that the pool's threads belong to. */
int qn_run(const qn_call *call, int64_t samples, int64_t times, const void *x, const void *state);

/* A sample whose time steps come one by one: qn_begin() sets its states, qn_turn() computes one
 * step on the caller's thread. In between, the call's first arena is the sample's; after QN_STOPPED
 * its states must be set anew. */
void qn_begin(const qn_call *call, const void *state);
int qn_turn(const qn_call *call, const void *x);

/* Oddities of a program: it computes, but hardly what its network means. Maxima of windows without
 * an element of the image; division of quantized numbers. */
enum { QN_ETHOSU_EMPTY_WINDOWS = 1, QN_ETHOSU_RAW_DIVISION = 2 };

/* Needs of a program of Ethos-U: bytes of the decoded program and of a run's memory,
 * multiply-accumulates, operations, and the end of the bytes of each region that it names. */
typedef struct qn_ethosu_needs {
    int64_t program_bytes, scratch_bytes, macs, used[8];
    int32_t operations, oddities;
} qn_ethosu_needs;

/* Decode and check a program; its words are those of csrc/ethosu/program.h. Another status than
 * QN_OK comes with a sentence in why[QN_WHY]. */
int qn_ethosu_inspect(const void *commands, int64_t command_bytes, const void *constants,
                      int64_t constant_bytes, qn_ethosu_needs *needs, char *why);

/* An operation of a program: what it is, and the map that it writes. command: its word of the
 * stream. kind, mode: as csrc/ethosu/program.h numbers them. Strides and bases in bytes. settings,
 * weights: hashes; operations on one layer have the same settings, stripes the same weights. */
typedef struct qn_ethosu_operation {
    int32_t kind, mode, command, rows, columns, channels, element, is_signed, region, has_bricks;
    int32_t tile_rows;
    int64_t base, low_base, stride_y, stride_x, stride_c, in_base, macs, settings, weights;
} qn_ethosu_operation;

/* Decode a program into memory of qn_ethosu_needs.program_bytes, and list its operations. */
int qn_ethosu_list(const void *commands, int64_t command_bytes, const void *constants,
                   int64_t constant_bytes, void *program, int64_t program_bytes,
                   qn_ethosu_operation *list, char *why);

/* Return how a fast kernel computes an operation, from its packed program: the symbol of a kernel,
 * "map" (a result for each byte) or "plain". */
const char *qn_ethosu_step(const void *packed, int32_t index);

/* Decode a stream of weights into out[capacity]. Returns their number, or a negative status. */
int64_t qn_ethosu_weights(const void *stream, int64_t bytes, int32_t fast, int16_t *out,
                          int64_t capacity);

enum { QN_ORDERED_COLUMNS = 8 };

/* Sums of products of floats in an order that neither the host nor the number of rows changes:
 *
 *   out[r][c] += the sums over k of x[starts[r] + taps[k]] * w[k][c], one for each part
 *
 * Part p has ends[p-1] <= k < ends[p] (from 0 on, if it is the first), in this order; parts are
 * added in pairs: (0 + 1) + (2 + 3). Each product and each addition is rounded. weights: w, in
 * blocks of QN_ORDERED_COLUMNS columns of which each lies as [k][column], the last one filled up
 * with any number; out: [rows][columns], apart from x. */
typedef struct qn_ordered {
    const void *x, *weights;
    void *out;
    const int64_t *starts, *taps, *ends;
    int64_t rows, columns;
    int32_t parts; /* 1, 2 or 4 */
    int32_t wide;  /* float64, not float32 */
} qn_ordered;

/* features: the instruction sets that it may use, of those that this host has. */
void qn_ordered_sums(const qn_ordered *of, uint32_t features);

/* out[pixel][c] = tables[c][x[pixel][c]] with tables of 256 bytes; out and x are apart. */
void qn_look_up(uint8_t *out, const uint8_t *x, const uint8_t *tables, int64_t pixels,
                int32_t channels);

#endif
