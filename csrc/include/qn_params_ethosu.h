/* Parameters of the programs of Ethos-U; part of the C interface, see qn.h. */
#ifndef QN_PARAMS_ETHOSU_H
#define QN_PARAMS_ETHOSU_H

#include <stdint.h>

/* program_bytes, scratch_bytes: those of qn_ethosu_needs. operations: how many run. */
typedef struct qn_ethosu {
    int32_t profile;
    int32_t in_bytes, out_bytes, command_bytes, constant_bytes;
    int32_t program_bytes, scratch_bytes, operations;
} qn_ethosu;

/* width: bytes of an element. others: bytes before or around the elements. offset: of the first. */
typedef struct qn_ethosu_bytes {
    int32_t profile;
    int32_t length, width, others, offset;
} qn_ethosu_bytes;

#endif
