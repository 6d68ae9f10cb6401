/* The device's end of `qemu-nn validate`: link.c speaks the protocol of docs/protocol.md.
 *
 * Fill a link_port with how your board reads and writes bytes, and call
 *
 *     link_serve(&port, &link_exported);
 *
 * which answers the PC for ever. link_network.c has link_exported, the exported network. C99, no
 * heap, no floating point; all memory is one frame of LINK_BUFFER bytes and some 100 besides.
 */
#ifndef LINK_H
#define LINK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of the longest frame, 64 to 65535; the PC never sends a longer one. */
#ifndef LINK_BUFFER
#define LINK_BUFFER 1024
#endif

/* Input and output of the board. */
typedef struct link_port {
    int (*read)(void); /* the next byte, 0 to 255, or -1 if none has come yet */
    void (*write)(const uint8_t *bytes, size_t size); /* returns when all are on their way */
    uint32_t (*count)(void); /* a counter that runs on and wraps at 2^32; NULL if there is none */
    const char *counts;      /* what it counts: "cycles" or "instructions"; "" if there is none */
    uint32_t clock;          /* Hz of the core; 0 if nobody knows */
} link_port;

/* Memory that the PC writes or reads. */
typedef struct link_block {
    void *bytes;
    uint32_t size;
} link_block;

/* A network, as the PC sees it. description: JSON, docs/protocol.md says what it holds. run():
 * one input, or one time step, the first one if `first` is not 0; returns 0, or the number of the
 * layer that refuses its arguments. */
typedef struct link_network {
    const char *description;
    const link_block *inputs, *outputs;
    uint8_t input_count, output_count;
    int (*run)(int first);
} link_network;

/* The network of this export. */
extern const link_network link_exported;

/* Answers the PC; never returns. */
void link_serve(const link_port *port, const link_network *network);

/* Called by run() after each layer: the PC reads the result, and may write another in its place. */
void link_layer_done(const char *layer, void *result, size_t size);

#ifdef __cplusplus
}
#endif

#endif
