// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// X.hpp declares, X-inl.hpp defines. Without LAYERBENCH_COMPILED the first includes the second,
/// and all is inline. With it, one library of the project must compile every *-inl.hpp.
#ifdef LAYERBENCH_COMPILED
#define LAYERBENCH_INLINE
#else
#define LAYERBENCH_INLINE inline
#endif
