/* Refusals of a contract (<op>.h): the status and the sentence the user reads. */
#ifndef QN_CONTRACT_H
#define QN_CONTRACT_H

#include <stdarg.h>
#include <stdio.h>

#include "fixed.h"

/* Writes the sentence into why[QN_WHY] and returns the status. */
static inline int qn_deny(char *why, int status, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(why, QN_WHY, format, values);
    va_end(values);
    return status;
}

/* Does the core of this profile have the DSP extension and take Arm's DSP path? */
static inline int qn_is_dsp(int32_t profile) { return qn_path(profile) == QN_PATH_DSP; }

/* The range of one parameter; "is" is always the value that was passed. */
static inline int qn_in_range(const char *name, int32_t value, int32_t low, int32_t high,
                              char *why) {
    if (value < low || value > high) {
        return qn_deny(why, QN_REFUSED, "%s must be in %ld..%ld, is %ld", name, (long)low,
                       (long)high, (long)value);
    }
    return QN_OK;
}

/* Shift amounts above 31 are outside C and a negative shift does not exist on the device. */
static inline int qn_shift_in_range(const char *name, int32_t value, char *why) {
    if (value < 0 || value > 31) {
        return qn_deny(why, QN_REFUSED, "%s must be in 0..31, is %ld%s", name, (long)value,
                       value < 0 ? ": the device only shifts the other way, so lower the weights' "
                                   "or the bias's frac bits until it is legal"
                                 : "");
    }
    return QN_OK;
}

#endif
