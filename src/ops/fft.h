// Discrete Fourier transform of any length in double: O(n log n).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

namespace stoker {

// The tables of one length. Powers of two go by radix 2, short lengths by the sum itself, the
// others by Bluestein's convolution of a power of two. Not thread-safe: it holds work space.
class Fourier {
 public:
  explicit Fourier(int64_t n);
  // In place: y[k] = sum over m of x[m] exp(-2 pi i k m / n). The inverse has the other sign and
  // divides by n.
  void transform(std::complex<double>* x, bool inverse);

 private:
  void forward(std::complex<double>* x);
  void radix2(std::complex<double>* x) const;
  void direct(std::complex<double>* x);
  void bluestein(std::complex<double>* x);

  int64_t n_;
  std::vector<std::complex<double>> roots_;  // exp(-2 pi i k / n)
  std::vector<std::complex<double>> work_;
  std::unique_ptr<Fourier> padded_;           // of Bluestein's longer length
  std::vector<std::complex<double>> chirp_;   // exp(-pi i k^2 / n)
  std::vector<std::complex<double>> filter_;  // the transform of its conjugate
};

}  // namespace stoker
