// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Definitions in files named *-inl.hpp are part of the headers that declare them, unless
/// LAYERBENCH_COMPILED is set: then one library of a project compiles them once
/// (src/CMakeLists.txt).
#ifdef LAYERBENCH_COMPILED
#define LAYERBENCH_INLINE
#else
#define LAYERBENCH_INLINE inline
#endif
