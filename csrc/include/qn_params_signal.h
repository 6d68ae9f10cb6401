/* Parameters of the operators of TensorFlow Lite Micro's Signal library; part of the C interface,
 * see qn.h. Every one starts with the profile; the other fields have the names of the operators'
 * options. */
#ifndef QN_PARAMS_SIGNAL_H
#define QN_PARAMS_SIGNAL_H

#include <stdint.h>

typedef struct qn_signal_window {
    int32_t profile;
    int32_t outer, size, right_shift;
} qn_signal_window;

/* skips_lowest: elements of -32768 do not count, as in the micro frontend. */
typedef struct qn_signal_scale {
    int32_t profile;
    int32_t length, skips_lowest;
} qn_signal_scale;

/* input_length: of one signal; not looked at by the inverse transform. */
typedef struct qn_signal_fft {
    int32_t profile;
    int32_t outer, input_length, fft_length;
} qn_signal_fft;

typedef struct qn_signal_energy {
    int32_t profile;
    int32_t length, start_index, end_index;
} qn_signal_energy;

typedef struct qn_signal_filter_bank {
    int32_t profile;
    int32_t length, num_weights, num_channels;
} qn_signal_filter_bank;

/* Smoothings and min_signal_remaining are unsigned numbers of 32 bits. */
typedef struct qn_signal_subtraction {
    int32_t profile;
    int32_t length, smoothing, one_minus_smoothing, alternate_smoothing;
    int32_t alternate_one_minus_smoothing, min_signal_remaining, smoothing_bits;
    int32_t spectral_subtraction_bits, clamping;
} qn_signal_subtraction;

typedef struct qn_signal_pcan {
    int32_t profile;
    int32_t length, lut_length, snr_shift;
} qn_signal_pcan;

/* output_scale: unsigned. */
typedef struct qn_signal_log {
    int32_t profile;
    int32_t length, input_correction_bits, output_scale;
} qn_signal_log;

/* kept_length: elements that are kept. wait, every: see csrc/s/signal/frames.h. */
typedef struct qn_signal_frames {
    int32_t profile;
    int32_t outer, n_frames, frame_size, frame_step, kept_length, wait, every, fill;
} qn_signal_frames;

typedef struct qn_signal_overlap {
    int32_t profile;
    int32_t outer, n_frames, frame_size, frame_step;
} qn_signal_overlap;

#endif
