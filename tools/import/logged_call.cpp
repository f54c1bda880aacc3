// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "logged_call.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include <layerbench/base/parse_number.hpp>
#include <layerbench/op/memory_order.hpp>
#include <layerbench/shape/record.hpp>

namespace layerbench::tool::importer {
namespace {

/// Among the inputs; the last one is no position.
constexpr std::size_t absent = 99;

/// An op of a framework: the primitive and algorithm of oneDNN, and which inputs are what.
struct op_words {
  std::string_view op, kind, algorithm = {};
  std::size_t src = 0, wei = 1, bias = 2;
  std::size_t window = absent, stride = absent, pad = absent, dilation = absent, groups = absent;
};

constexpr op_words all_words[]{
    // ONNX Runtime, and OpenVINO from Convolution on
    {"Conv", "convolution"},
    {"FusedConv", "convolution"},
    {"QLinearConv", "convolution", "", 0, 3, 8},
    {"ConvTranspose", "deconvolution"},
    {"Gemm", "matmul"},
    {"FusedGemm", "matmul"},
    {"MatMul", "matmul"},
    {"FusedMatMul", "matmul"},
    {"QLinearMatMul", "matmul", "", 0, 3, absent},
    {"MaxPool", "pooling", "pooling_max"},
    {"AveragePool", "pooling", "pooling_avg_include_padding"},
    {"GlobalMaxPool", "pooling", "pooling_max"},
    {"GlobalAveragePool", "pooling", "pooling_avg_include_padding"},
    {"ReduceMean", "pooling", "pooling_avg_include_padding"},
    {"Relu", "eltwise", "eltwise_relu alpha:0"},
    {"Clip", "eltwise", "eltwise_relu6"},
    {"LeakyRelu", "eltwise", "eltwise_leaky_relu"},
    {"Elu", "eltwise", "eltwise_elu"},
    {"Sigmoid", "eltwise", "eltwise_logistic"},
    {"Tanh", "eltwise", "eltwise_tanh"},
    {"Gelu", "eltwise", "eltwise_gelu"},
    {"BiasGelu", "eltwise", "eltwise_gelu"},
    {"FastGelu", "eltwise", "eltwise_gelu"},
    {"QuickGelu", "eltwise", "eltwise_swish"},
    {"HardSwish", "eltwise", "eltwise_hardswish"},
    {"HardSigmoid", "eltwise", "eltwise_hardsigmoid"},
    {"Add", "binary", "binary_add"},
    {"Mul", "binary", "binary_mul"},
    {"Softmax", "softmax"},
    {"LayerNormalization", "layer_normalization"},
    {"SkipLayerNormalization", "layer_normalization", "", 0, 2, 3},
    {"BatchNormalization", "batch_normalization"},
    {"Concat", "concat"},
    {"ReorderInput", "reorder"},
    {"ReorderOutput", "reorder"},
    {"QuantizeLinear", "reorder"},
    {"DequantizeLinear", "reorder"},
    {"Convolution", "convolution"},
    {"GroupConvolution", "convolution"},
    {"Deconvolution", "deconvolution"},
    {"FullyConnected", "matmul"},
    {"Pooling", "pooling", "pooling_max"},
    {"Reduce", "pooling", "pooling_avg_include_padding"},
    {"Concatenation", "concat"},
    {"Reorder", "reorder"},
    // PyTorch
    {"aten::mkldnn_convolution", "convolution", "", 0, 1, 2, absent, 4, 3, 5, 6},
    {"aten::cudnn_convolution", "convolution", "", 0, 1, absent, absent, 3, 2, 4, 5},
    {"aten::cudnn_convolution_relu", "convolution", "", 0, 1, 2, absent, 3, 4, 5, 6},
    {"aten::cudnn_convolution_transpose", "deconvolution", "", 0, 1, absent, absent, 4, 2, 5, 6},
    {"aten::_conv_depthwise2d", "convolution", "", 0, 1, 3, absent, 4, 5, 6},
    {"aten::_slow_conv2d_forward", "convolution", "", 0, 1, 3, absent, 4, 5},
    {"aten::slow_conv_dilated2d", "convolution", "", 0, 1, 3, absent, 4, 5, 6},
    {"aten::slow_conv_transpose2d", "deconvolution", "", 0, 1, 3, absent, 4, 5, 7},
    {"aten::addmm", "matmul", "", 1, 2, 0},
    {"aten::_addmm_activation", "matmul", "", 1, 2, 0},
    {"aten::mm", "matmul", "", 0, 1, absent},
    {"aten::bmm", "matmul", "", 0, 1, absent},
    {"aten::max_pool2d_with_indices", "pooling", "pooling_max", 0, 1, 2, 1, 2, 3, 4},
    {"aten::avg_pool2d", "pooling", "pooling_avg_include_padding", 0, 1, 2, 1, 2, 3},
    {"aten::mean", "pooling", "pooling_avg_include_padding"},
    {"aten::relu", "eltwise", "eltwise_relu alpha:0"},
    {"aten::hardtanh", "eltwise", "eltwise_relu6"},
    {"aten::leaky_relu", "eltwise", "eltwise_leaky_relu"},
    {"aten::elu", "eltwise", "eltwise_elu"},
    {"aten::sigmoid", "eltwise", "eltwise_logistic"},
    {"aten::tanh", "eltwise", "eltwise_tanh"},
    {"aten::gelu", "eltwise", "eltwise_gelu"},
    {"aten::silu", "eltwise", "eltwise_swish"},
    {"aten::hardswish", "eltwise", "eltwise_hardswish"},
    {"aten::hardsigmoid", "eltwise", "eltwise_hardsigmoid"},
    {"aten::add", "binary", "binary_add"},
    {"aten::mul", "binary", "binary_mul"},
    {"aten::_softmax", "softmax"},
    {"aten::native_layer_norm", "layer_normalization", "", 0, 2, 3},
    {"aten::native_batch_norm", "batch_normalization"},
    {"aten::cudnn_batch_norm", "batch_normalization"},
    {"aten::cat", "concat"},
    {"aten::copy_", "reorder", "", 1, absent, absent},
};

[[nodiscard]] const op_words* words_of(std::string_view op) {
  const auto found = std::ranges::find_if(all_words, [&](const op_words& one) {
    // PyTorch's forms that write their source end in '_'.
    return op == one.op ||
           (op.starts_with("aten::") && op.ends_with('_') && op.substr(0, op.size() - 1) == one.op);
  });
  return found == std::end(all_words) ? nullptr : &*found;
}

/// The data type in oneDNN's words.
[[nodiscard]] std::string onednn_type(std::string_view logged) {
  constexpr std::pair<std::string_view, std::string_view> types[]{{"float", "f32"},
                                                                  {"f32", "f32"},
                                                                  {"c10::BFloat16", "bf16"},
                                                                  {"bfloat16", "bf16"},
                                                                  {"bf16", "bf16"},
                                                                  {"c10::Half", "f16"},
                                                                  {"float16", "f16"},
                                                                  {"f16", "f16"},
                                                                  {"int8", "s8"},
                                                                  {"signed char", "s8"},
                                                                  {"i8", "s8"},
                                                                  {"uint8", "u8"},
                                                                  {"u8", "u8"},
                                                                  {"unsigned char", "u8"},
                                                                  {"double", "f64"},
                                                                  {"f64", "f64"},
                                                                  {"long int", "s64"},
                                                                  {"int64", "s64"},
                                                                  {"", "undef"},
                                                                  {"TensorList", "undef"}};
  const auto found = std::ranges::find(types, logged, [](const auto& one) { return one.first; });
  return std::string(found == std::end(types) ? "other" : found->second);
}

/// Numbers in a text such as "[2, 2]".
[[nodiscard]] dims numbers_in(std::string_view text) {
  dims numbers;
  while (!text.empty()) {
    const auto value = take_number<std::int64_t>(text);
    if (!value) text.remove_prefix(1);
    if (value) numbers.push_back(std::clamp(*value, -max_size, max_size));
  }
  return numbers;
}

/// Writes a call in oneDNN's words. Each function returns whether the sizes allow it.
class translator {
 public:
  translator(const logged_call& call, const op_words& words)
      : call_(call),
        words_(words),
        src_(input(words.src)),
        wei_(input(words.wei)),
        bias_(input(words.bias)) {
    into_ = {
        call.engine, std::string(words.kind), call.implementation, "forward_inference", "", "", "",
        ""};
    if (!words.algorithm.empty()) into_.auxiliary = fmt::format("alg:{}", words.algorithm);
    if (!call.outputs.empty()) dst_ = call.outputs.front();
    if (dst_.type.empty()) dst_.type = src_.type;
    if (dst_.order.empty() && dst_.extents.size() == src_.extents.size()) dst_.order = src_.order;
  }

  [[nodiscard]] std::optional<result::verbose_primitive> take() {
    if (src_.extents.empty() || !translate()) return std::nullopt;
    into_.memory = fmt::format("{} {}", tensor("src", src_), tensor("dst", dst_)) + into_.memory;
    return std::move(into_);
  }

 private:
  [[nodiscard]] logged_operand input(std::size_t position) const {
    return position < call_.inputs.size() ? call_.inputs[position] : logged_operand{};
  }

  /// A size on an axis of an image in a list of settings, of which one may stand for all.
  [[nodiscard]] std::optional<std::int64_t> setting(std::size_t position, std::size_t axis) const {
    const dims all = numbers_in(input(position).value);
    if (all.empty()) return std::nullopt;
    return std::max<std::int64_t>(0, all[std::min(axis, all.size() - 1)]);
  }

  [[nodiscard]] static std::string tensor(std::string_view name, const logged_operand& of) {
    return fmt::format("{}:{}::blocked:{}::f0", name, onednn_type(of.type), of.order);
  }

  bool translate() {
    const std::string_view kind = words_.kind;
    if (kind == "convolution" || kind == "deconvolution") return convolution();
    if (kind == "matmul") return product();
    if (kind == "pooling") return pool();
    if (kind == "batch_normalization") return normalization();
    into_.problem = joined(src_.extents, "x");
    if (kind == "binary") return binary();
    if (kind == "layer_normalization") {
      into_.auxiliary = "flags:";
      if (!wei_.extents.empty()) into_.auxiliary += 'C';
      if (!input(words_.bias).extents.empty()) into_.auxiliary += 'H';
    } else if (kind == "softmax") {
      const dims axis = numbers_in(input(1).value);
      const auto rank = static_cast<std::int64_t>(src_.extents.size());
      const std::int64_t from_end = axis.empty() ? -1 : axis[0];
      into_.auxiliary = fmt::format("axis:{}", from_end < 0 ? from_end + rank : from_end);
    } else if (kind == "concat") {
      return concatenation();
    } else if (kind == "reorder" && words_.src == 1) {  // writes its first input
      dst_ = input(0);
      return dst_.extents == src_.extents;
    }
    return true;
  }

  bool normalization() {
    if (src_.extents.size() < 2 || src_.extents.size() > 5) return false;
    into_.auxiliary = "flags:GCH";
    into_.problem = fmt::format("mb{}_ic{}", src_.extents[0], src_.extents[1]);
    for (std::size_t axis = 2; axis < src_.extents.size(); ++axis) {
      into_.problem += fmt::format("_i{}{}", letter(axis), src_.extents[axis]);
    }
    return true;
  }

  /// d, h or w; the last axis is w.
  [[nodiscard]] char letter(std::size_t axis) const {
    return "dhw"[axis + 5 - src_.extents.size() - 2];
  }

  /// Adds how a window of these sizes slides over an image.
  void windows(const dims& sizes, bool is_transposed) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::int64_t in = src_.extents[i + 2];
      const std::int64_t gaps = std::max<std::int64_t>(1, setting(words_.dilation, i).value_or(1));
      const std::int64_t reach = (sizes[i] - 1) * gaps + 1;
      const auto pad = setting(words_.pad, i);
      auto stride = setting(words_.stride, i);
      if (dst_.extents.size() == i + 2) {
        if (!stride) stride = sizes[i];  // PyTorch's default of pools
        const std::int64_t both = 2 * pad.value_or(0);
        *stride = std::max<std::int64_t>(1, *stride);
        dst_.extents.push_back(std::clamp<std::int64_t>(
            is_transposed ? (in - 1) * *stride + reach - both : (in + both - reach) / *stride + 1,
            1, max_size));
      }
      const std::int64_t out = dst_.extents[i + 2];
      // The least stride whose results need not leave out more than is between two of them.
      const std::int64_t step = std::max<std::int64_t>(
          1, stride.value_or(is_transposed ? out / in : (in - reach + out) / out));
      const std::int64_t lacks =
          is_transposed ? (in - 1) * step + reach - out : (out - 1) * step + reach - in;
      into_.problem += fmt::format("_i{0}{1}o{0}{2}k{0}{3}s{0}{4}d{0}{5}p{0}{6}", letter(i + 2), in,
                                   out, sizes[i], step, gaps - 1,
                                   pad.value_or(std::max<std::int64_t>(0, (lacks + 1) / 2)));
    }
  }

  bool convolution() {
    const bool is_transposed = words_.kind == "deconvolution";
    const std::size_t rank = src_.extents.size();
    dims wei = wei_.extents;
    if (rank < 3 || rank > 5 || (wei.size() != rank && wei.size() != rank + 1)) return false;
    if (!dst_.extents.empty() && dst_.extents.size() != rank) return false;
    const std::int64_t channels = src_.extents[1];
    std::int64_t groups = setting(words_.groups, 0).value_or(0);
    if (wei.size() > rank) {
      groups = wei[0];
      wei[1] *= groups;
      wei.erase(wei.begin());
    } else if (groups < 1 && is_transposed) {
      groups = dst_.extents.empty() ? 1 : std::max<std::int64_t>(1, dst_.extents[1] / wei[1]);
    } else if (groups < 1) {
      groups = channels % wei[1] == 0 ? channels / wei[1] : 1;
    }
    const std::int64_t results = is_transposed ? std::min(max_size, wei[1] * groups) : wei[0];
    if (dst_.extents.empty()) {
      // Neither the result nor the stride is in the log.
      if (call_.op.starts_with("aten::") && !setting(words_.stride, 0)) return false;
      dst_.extents = {src_.extents[0], results};
    }
    if (call_.op.starts_with("aten::") && dst_.extents[1] != results) return false;
    into_.problem =
        fmt::format("g{}mb{}_ic{}oc{}", groups, src_.extents[0], channels, dst_.extents[1]);
    windows({wei.begin() + 2, wei.end()}, is_transposed);
    add_weights(results);
    return true;
  }

  /// Adds weights, a bias of this size, and a sum with a tensor like the result.
  void add_weights(std::int64_t results) {
    into_.memory += ' ' + tensor("wei", wei_);
    const bool has_bias = !bias_.extents.empty() && elements(bias_.extents) == results;
    if (has_bias && bias_.type.empty()) bias_.type = "any";
    if (has_bias) into_.memory += ' ' + tensor("bia", bias_);
    for (std::size_t i = 2; i < call_.inputs.size() && !call_.outputs.empty(); ++i) {
      const bool is_bias = has_bias && i == words_.bias;
      const bool is_other = is_bias || i == words_.wei;
      if (!is_other && input(i).extents == dst_.extents) into_.attributes = "attr-post-ops:sum";
    }
  }

  bool product() {
    dims a = src_.extents;
    dims b = wei_.extents;
    const dims& c_of_log = dst_.extents;
    if (b.size() < 2 && a.size() > 1 && a.size() == c_of_log.size() &&
        std::equal(a.begin(), a.end() - 1, c_of_log.begin())) {
      // ONNX Runtime does not log weights that it has packed.
      bias_ = input(1);
      b = {a.back(), c_of_log.back()};
      wei_ = {b, src_.type, op::plain_order(b)};
    }
    if (a.size() < 2 || b.size() < 2) return false;
    const std::size_t rank = std::max(a.size(), b.size());
    a.insert(a.begin(), rank - a.size(), 1);
    b.insert(b.begin(), rank - b.size(), 1);
    const std::size_t rows = rank - 2;
    const auto turn = [&](dims& extents, logged_operand& of) {
      std::swap(extents[rows], extents[rows + 1]);
      of.order = op::plain_order(extents);
      std::swap(of.order[rows], of.order[rows + 1]);
    };
    const bool are_rows = call_.op == "FullyConnected" && a.back() == b.back();
    const bool turns_a = !are_rows && a.back() != b[rows] && a.back() != b.back();
    if (turns_a) turn(a, src_);
    if (are_rows || a.back() != b[rows]) turn(b, wei_);
    if (a.back() != b[rows]) return false;
    // A matrix for all rows may have fewer axes than these.
    if (wei_.order.size() != rank && !wei_.order.empty()) {
      const bool is_turned = wei_.order == "ba";
      wei_.order = op::plain_order(b);
      if (is_turned) std::swap(wei_.order[rows], wei_.order[rows + 1]);
    }
    dims c = a;
    c.back() = b.back();
    into_.problem = fmt::format("{}:{}:{}", joined(a, "x"), joined(b, "x"), joined(c, "x"));
    if (dst_.extents.empty()) dst_.extents = c;
    add_weights(b.back());
    return true;
  }

  bool pool() {
    const std::size_t rank = src_.extents.size();
    const bool is_mean = call_.op == "aten::mean" || call_.op.starts_with("Reduce");
    if (rank < 3 || rank > 5 || (is_mean && rank != 4)) return false;
    const std::int64_t channels = src_.extents[1];
    const dims means = numbers_in(input(1).value);
    if (is_mean) {
      const bool of_images =
          call_.outputs.empty()
              ? means == dims{2, 3} || means == dims{-1, -2} || means == dims{-2, -1}
              : elements(dst_.extents) == checked_multiply(src_.extents[0], channels);
      if (!of_images) return false;
      dst_.extents = {src_.extents[0], channels, 1, 1};
    }
    if (dst_.extents.empty()) dst_.extents = {src_.extents[0], channels};
    if (dst_.extents.size() < 2 || dst_.extents[1] != channels) return false;
    dims sizes;
    for (std::size_t i = 0; i + 2 < rank; ++i) {
      const std::int64_t in = src_.extents[i + 2];
      auto size = setting(words_.window, i);
      if (!size && dst_.extents.size() == rank) {
        const std::int64_t out = dst_.extents[i + 2];
        constexpr std::int64_t usual = 3;  // of windows that overlap
        size = out == 1 ? in : in == out ? usual : in / out;
      }
      if (size.value_or(0) < 1) return false;
      sizes.push_back(*size);
    }
    into_.problem = fmt::format("mb{}_ic{}", src_.extents[0], channels);
    windows(sizes, false);
    return true;
  }

  bool binary() {
    logged_operand other = input(1);
    if (other.extents.empty()) {  // a number
      into_.kind = "eltwise";
      into_.auxiliary = "alg:eltwise_linear";
      return true;
    }
    if (elements(other.extents) > elements(src_.extents)) std::swap(other, src_);
    into_.problem = fmt::format("{}:{}", joined(src_.extents, "x"), joined(other.extents, "x"));
    into_.memory += ' ' + tensor("src", other);
    return true;
  }

  bool concatenation() {
    std::optional<std::size_t> axis;
    into_.problem.clear();
    for (const logged_operand& one : call_.inputs) {
      if (one.extents.size() != src_.extents.size()) {
        const dims given = numbers_in(one.value);
        const auto rank = static_cast<std::int64_t>(src_.extents.size());
        if (!given.empty() && given[0] >= -rank && given[0] < rank) {
          axis = static_cast<std::size_t>(given[0] + (given[0] < 0 ? rank : 0));
        }
        continue;
      }
      into_.problem += (into_.problem.empty() ? "" : ":") + joined(one.extents, "x");
    }
    for (std::size_t i = 0; i < dst_.extents.size() && i < src_.extents.size() && !axis; ++i) {
      if (dst_.extents[i] != src_.extents[i]) axis = i;
    }
    if (!axis) return false;
    into_.auxiliary = fmt::format("axis:{}", *axis);
    dims sum = src_.extents;
    sum[*axis] = 0;
    for (const logged_operand& one : call_.inputs) {
      if (one.extents.size() != src_.extents.size()) continue;
      sum[*axis] = std::min(max_size, sum[*axis] + one.extents[*axis]);
    }
    if (dst_.extents.size() == sum.size() && dst_.extents[*axis] != sum[*axis]) return false;
    dst_.extents = sum;
    into_.problem += ':' + joined(sum, "x");
    return true;
  }

  const logged_call& call_;
  const op_words& words_;
  logged_operand src_, wei_, bias_, dst_;
  result::verbose_primitive into_;
};

}  // namespace

bool has_primitive(std::string_view op) { return words_of(op) != nullptr; }

result::verbose_primitive primitive_of(const logged_call& call) {
  const op_words* words = words_of(call.op);
  std::optional<result::verbose_primitive> found;
  try {
    if (words != nullptr) found = translator(call, *words).take();
  } catch (const std::overflow_error&) {
    found.reset();  // of sizes that no memory holds
  }
  if (found) return *std::move(found);
  result::verbose_primitive unknown{call.engine, call.op, call.implementation, "", "", "", "", ""};
  for (const logged_operand& one : call.inputs) {
    if (one.extents.empty()) continue;
    unknown.problem += (unknown.problem.empty() ? "" : ":") + joined(one.extents, "x");
  }
  if (words != nullptr && unknown.problem.empty()) unknown.kind = words->kind;
  return unknown;
}

}  // namespace layerbench::tool::importer
