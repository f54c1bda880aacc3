// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0

// A GPU that is this program's processor, and its libraries: found before NVIDIA's they let the
// programs do all that they do on a GPU, but slowly.
#include "host_cublas.hpp"
#include "host_cuda.hpp"
#include "host_cudnn.hpp"
#include "host_cudnn_graph.hpp"
#include "host_cudnn_images.hpp"
#include "host_kernels.hpp"
