// Which instruction sets the kernels are built for: AVX-512, AVX2 and SSE4 on x86, the baseline elsewhere, and plain C++
// (reduce_plain.hpp) where the baseline has no vectors. Must come before any header of Highway. The ones left out would
// double the build and gain nothing; Highway's emulation of vectors takes minutes to compile and is slower than plain C++.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#define HWY_BROKEN_EMU128 1  // its place is taken by HWY_SCALAR
