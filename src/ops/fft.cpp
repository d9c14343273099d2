// SPDX-License-Identifier: Apache-2.0
#include "ops/fft.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace stoker {

namespace {

constexpr int64_t kDirectLimit = 16;  // up to here the plain sum is as fast

bool is_power_of_two(int64_t n) { return (n & (n - 1)) == 0; }

// exp(-2 pi i k / n) for 0 <= k < n.
std::complex<double> root(int64_t k, int64_t n) {
  const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

// Plain products: the operator of std::complex tests for NaN.
std::complex<double> times(std::complex<double> a, std::complex<double> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

}  // namespace

Fourier::Fourier(int64_t n) : n_(n) {
  if (is_power_of_two(n) || n <= kDirectLimit) {
    for (int64_t k = 0; k < n; ++k) roots_.push_back(root(k, n));
    work_.resize(static_cast<size_t>(n));
    return;
  }
  int64_t longer = 1;
  while (longer < 2 * n - 1) longer *= 2;
  padded_ = std::make_unique<Fourier>(longer);
  work_.resize(static_cast<size_t>(longer));
  filter_.resize(static_cast<size_t>(longer));
  // k^2 modulo 2n, step by step: k^2 itself loses its last bits in the angle.
  int64_t square = 0;
  for (int64_t k = 0; k < n; ++k) {
    chirp_.push_back(root(square, 2 * n));
    filter_[k] = std::conj(chirp_.back());
    if (k > 0) filter_[longer - k] = filter_[k];
    square = (square + 2 * k + 1) % (2 * n);
  }
  padded_->forward(filter_.data());
}

void Fourier::transform(std::complex<double>* x, bool inverse) {
  if (!inverse) return forward(x);
  // The inverse is the conjugate of the transform of the conjugate.
  for (int64_t k = 0; k < n_; ++k) x[k] = std::conj(x[k]);
  forward(x);
  const double scale = 1 / static_cast<double>(n_);
  for (int64_t k = 0; k < n_; ++k) x[k] = std::conj(x[k]) * scale;
}

void Fourier::forward(std::complex<double>* x) {
  if (padded_) return bluestein(x);
  if (n_ > kDirectLimit || is_power_of_two(n_)) return radix2(x);
  direct(x);
}

void Fourier::direct(std::complex<double>* x) {
  std::copy(x, x + n_, work_.begin());
  for (int64_t k = 0; k < n_; ++k) {
    std::complex<double> sum = 0;
    for (int64_t m = 0; m < n_; ++m) sum += times(work_[m], roots_[k * m % n_]);
    x[k] = sum;
  }
}

void Fourier::radix2(std::complex<double>* x) const {
  for (int64_t i = 1, j = 0; i < n_; ++i) {  // elements to the mirror image of their index's bits
    int64_t bit = n_ >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  for (int64_t half = 1; half < n_; half *= 2) {
    const int64_t step = n_ / (2 * half);
    for (int64_t start = 0; start < n_; start += 2 * half) {
      for (int64_t k = 0; k < half; ++k) {
        const std::complex<double> a = x[start + k];
        const std::complex<double> b = times(x[start + k + half], roots_[k * step]);
        x[start + k] = a + b;
        x[start + k + half] = a - b;
      }
    }
  }
}

// L. I. Bluestein, "A linear filtering approach to the computation of the discrete Fourier
// transform" (1970): km = (k^2 + m^2 - (k-m)^2) / 2 turns the sum into a convolution.
void Fourier::bluestein(std::complex<double>* x) {
  std::fill(work_.begin(), work_.end(), 0.0);
  for (int64_t k = 0; k < n_; ++k) work_[k] = times(x[k], chirp_[k]);
  padded_->forward(work_.data());
  for (size_t k = 0; k < work_.size(); ++k) work_[k] = times(work_[k], filter_[k]);
  padded_->transform(work_.data(), true);
  for (int64_t k = 0; k < n_; ++k) x[k] = times(work_[k], chirp_[k]);
}

}  // namespace stoker
