/* Fourier transforms of real signals, as the Signal library of TensorFlow Lite Micro has them from
 * kissfft 1.3.0: of 16 and 32 bits in fixed point, and of float32.
 *
 * A transform of fft_length floats is one of n = fft_length / 2 complex ones, element i of which
 * is (x[2i], x[2i+1]), and a step that takes the two apart. With w for twiddles, u for
 * super_twiddles, and P(x, k) = x * (M / k) of fixed point, M = 2^15 - 1 or 2^31 - 1 and M / k cut
 * off; x of float32:
 *
 *   Z = transform(z): n = r1 * r2 * ..., first all 4, then 2, 3, 5. Of one stage with radix r, whose
 *   inputs A[q] are the transforms of every r-th element from q on, m each, d = n / (r * m):
 *     a[q] = P(A[q][k], r), for q > 0 then times w[q * k * d]                        k = 0..m-1
 *     r = 2  out[k], out[k+m] = a0 + a1, a0 - a1
 *     r = 4  s = a0 + a2, d = a0 - a2, t = a1 + a3, e = -i (a1 - a3), i (a1 - a3) of the inverse:
 *            out[k + (0..3) m] = s + t, d + e, s - t, d - e
 *     r = 3  t = a1 + a2, e = i (a1 - a2) im(w[d m]), c = a0 - t / 2:  a0 + t, c + e, c - e
 *     r = 5  y1 = w[d m], y2 = w[2 d m], t1 = a1 + a4, t2 = a2 + a3, e1 = a1 - a4, e2 = a2 - a3:
 *            c1 = a0 + t1 re(y1) + t2 re(y2), f1 = -i (e1 im(y1) + e2 im(y2)): the second and fifth
 *            are c1 - f1, c1 + f1;  c2 = a0 + t1 re(y2) + t2 re(y1), f2 = i (e1 im(y2) - e2 im(y1)):
 *            the third and fourth c2 + f2, c2 - f2; the first a0 + (t1 + t2)
 *   rfft   out[0], out[n] = P(re Z[0]) + P(im Z[0]), P(re Z[0]) - P(im Z[0]), all P(x, 2); and
 *          for k = 1..n/2  a = P(Z[k]), b = P(conj Z[n-k]), f = a + b, t = (a - b) * u[k-1]:
 *            out[k] = (f + t) / 2, out[n-k] = conj(f - t) / 2, the latter where both are one
 *   irfft  z[0] = P(re x[0] + re x[n]), P(re x[0] - re x[n]); for k = 1..n/2, with a, b, f, t of x:
 *            z[k] = f + t, z[n-k] = conj(f - t);  then Z, as (out[2i], out[2i+1]), and of float32
 *            out / fft_length
 *
 * In fixed point a product of two complex numbers is one sum of two products, shifted right by 15
 * or 31 after half of that is added; so is a product of real ones. What does not fit wraps around.
 * Halves are shifted, those of a sum of 16 bits before it wraps. In float32 each operation rounds,
 * in the order in which they stand here from the left, and none is contracted.
 *
 * Axes: in [outer, input_length] of rfft, the rest of fft_length is 0; [outer, n + 1, 2] of irfft.
 * out [outer, n + 1, 2] of rfft, [outer, fft_length] of irfft. weights: w [n, 2] and u [(n + 1) /
 * 2, 2], which are data: w[k] = e^(-2 pi i k / n), u[k] = e^(-pi i ((k + 1) / n + 1/2)), conjugate
 * for the inverse, in fixed point floor(1/2 + M x). qemu_nn/functions/tflm_signal_tables.py makes
 * them from cosine and sine that are rounded correctly to 53 bits, of angles that are computed in
 * 53 bits. A device whose libm is off by one there has the same tables but where M x + 1/2 is all
 * but an integer, as of fft_length a multiple of 12 (cosine of 60 degrees).
 * Ranges: fft_length 4..32768 and twice a product of 2, 3 and 5: of others the device writes
 * through a null pointer. outer 1 or more, input_length 1..fft_length; arrays of at most 2^31 - 1
 * bytes. In place: no. Scratch: none. All cores and both roundings give the same bits; of float32 a
 * device whose compiler contracts a * b + c can differ in the last bit. */
#ifndef QN_S_FFT_H
#define QN_S_FFT_H

#include "../affine.h"
#include "kernels.h"

enum { S_FFT_MOST = 32768, S_FFT_STAGES = 16 };

#endif
