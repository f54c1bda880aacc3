// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/model/shape_file.hpp>

#include "support/mentions.hpp"
#include "support/temporary_directory.hpp"

namespace layerbench::model {
namespace model_bad_file_test {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::mentions;
using ::testing::Not;
using ::testing::StartsWith;

/// The message after the file's name of the bad_input that loading `path` throws.
std::string refusal(const std::filesystem::path& path,
                    std::optional<std::int64_t> batch = std::nullopt) {
  try {
    static_cast<void>(load(path, batch));
  } catch (const bad_input& e) {
    EXPECT_EQ(e.code(), exit_code::bad_input);
    EXPECT_THAT(e.what(), StartsWith(path.string()));
    return std::string(e.what()).substr(path.string().size());
  } catch (const std::exception& other) {
    ADD_FAILURE() << "not a bad_input: " << other.what();
    return {};
  }
  ADD_FAILURE() << "was accepted";
  return {};
}

struct bad_file {
  std::string name;
  std::string text;
  std::string pointer;  ///< the place that the error must name; empty where the text is not JSON
  std::vector<std::string> words;  ///< to be named after it: values, limits, keys, layers
};
void PrintTo(const bad_file& file, std::ostream* out) { *out << file.name; }

std::string model(const std::string& layers) {
  return R"({"name": "m", "parameters": {"batch": 2}, "layers": [)" + layers + "]}";
}
std::string layer_of(const std::string& op, const std::string& shape, const std::string& after = "",
                     const std::string& name = "a") {
  return R"({"name": ")" + name + R"(", "op": ")" + op + R"(", )" +
         (after.empty() ? "" : R"("after": )" + after + ", ") + R"("shape": {)" + shape + "}}";
}
/// A sweep of one product, and perhaps another layer.
std::string sweep(const std::string& passes, const std::string& more = "") {
  return R"({"name": "m", "passes": )" + passes + R"(, "layers": [)" +
         layer_of("gemm", R"("m": 1, "n": 1, "k": 1)", "[]") + (more.empty() ? "" : ",") + more +
         "]}";
}
/// One convolution with this value of `c`, and further fields.
std::string conv(const std::string& c, const std::string& more = "") {
  return model(layer_of(
      "conv", R"("n": "batch", "h": 8, "w": 8, "k": 4, "r": 3, "s": 3, "c": )" + c + more));
}
std::string pool(const std::string& kind, const std::string& more = "") {
  return model(layer_of("pool", R"("n": 1, "c": 1, "h": 4, "w": 4, "r": 2, "s": 2, "stride": 2,
                                   "kind": )" +
                                    kind + more));
}
/// An embedding of 2 columns, and a product of k factors that says whose weights it has.
std::string with_weights_of(const std::string& other, const std::string& k) {
  return model(
      layer_of("embedding", R"("n": "batch", "rows": 4, "columns": 2)") +
      R"(, {"name": "b", "op": "gemm", "shape": {"m": "batch", "n": 4, "b_transposed": true, "k": )" +
      k + R"(}, "weights_of": ")" + other + R"("})");
}
std::string relu(const std::string& name, const std::string& after = "",
                 const std::string& dims = "[2, 4]") {
  return layer_of("activation", R"("kind": "relu", "dims": )" + dims, after, name);
}
std::string join(const std::string& after) { return layer_of("add", R"("dims": [2, 4])", after); }

const std::vector<bad_file> bad_files{
    // not the JSON it should be
    {"broken_json", R"({"name": )", "", {"1", "10"}},
    {"missing_comma", "{\n  \"name\": \"m\"\n  \"layers\": []}", "", {"3", "10"}},
    {"trailing_text", conv("4") + "}", "", {"1", std::to_string(conv("4").size() + 1)}},
    {"empty", "", "", {"empty"}},
    {"blank", " \n\t\n", "", {"empty"}},
    {"binary",
     std::string("\x7f"
                 "ELF\0\1\2\xff\xfe",
                 9),
     "",
     {"1"}},
    {"invalid_utf8", "{\"name\": \"\xff\xfe\"}", "", {"1", "11"}},
    {"number_out_of_range", conv("1e999"), "", {"1e999"}},
    {"a_list", "[]", "/", {"object", "array"}},
    // keys
    {"duplicate_top_key", R"({"name": "m", "name": "m", "layers": []})", "/name", {"duplicate"}},
    {"duplicate_layer_key",
     model(relu("a") + R"(, {"name": "b", "op": "add", "name": "c"})"),
     "/layers/1/name",
     {"duplicate"}},
    {"duplicate_shape_key", conv("4", R"(, "n": 1)"), "/layers/0/shape/n", {"duplicate"}},
    {"duplicate_key_deep_in_lists",
     R"({"name": "m", "layers": [[1, [{}, {"x": 1, "x": 2}]]]})",
     "/layers/0/1/1/x",
     {"duplicate"}},
    {"duplicate_key_after_a_nested_object",
     R"({"parameters": {"batch": 1, "more": {"batch": 1}, "batch": 1}})",
     "/parameters/batch",
     {"duplicate"}},
    {"unknown_top_key", R"({"name": "m", "layres": []})", "/layres", {"layers"}},
    {"unknown_layer_key",
     model(R"({"name": "a", "op": "add", "input": "x", "shape": {}})"),
     "/layers/0/input",
     {"after"}},
    {"unknown_shape_key", conv("4", R"(, "padding": 1)"), "/layers/0/shape/padding", {"pad"}},
    {"unknown_key_with_a_slash", conv("4", R"(, "a/b~c": 1)"), "/layers/0/shape/a~1b~0c", {"pad"}},
    {"missing_layers", R"({"name": "m"})", "/", {"layers"}},
    {"missing_name", R"({"layers": []})", "/", {"name"}},
    {"missing_op", model(R"({"name": "a", "shape": {}})"), "/layers/0", {"op"}},
    {"missing_size", model(layer_of("gemm", R"("m": 1, "n": 2)")), "/layers/0/shape", {"k"}},
    // values
    {"passes_not_an_object", sweep(R"(["fwd"])"), "/passes", {"object", "array"}},
    {"no_passes_of_any_op", sweep("{}"), "/passes", {}},
    {"no_passes_of_an_op", sweep(R"({"gemm": []})"), "/passes/gemm", {}},
    {"unknown_pass", sweep(R"({"gemm": ["fwd", "bckwd"]})"), "/passes/gemm/1", {"bckwd", "fwd"}},
    {"pass_that_the_op_lacks", sweep(R"({"gemm": ["bwd"]})"), "/layers/0/op", {"bwd"}},
    {"op_without_passes", sweep(R"({"conv": ["fwd"]})"), "/layers/0/op", {"gemm", "passes"}},
    {"sweep_with_an_edge",
     sweep(R"({"gemm": ["fwd"]})", layer_of("gemm", R"("m": 1, "n": 1, "k": 1)", R"(["a"])", "b")),
     "/layers/1",
     {"b", "after"}},
    {"no_layers", model(""), "/layers", {}},
    {"layers_not_a_list", R"({"name": "m", "layers": {}})", "/layers", {"object"}},
    {"layer_not_an_object", model("3"), "/layers/0", {"object", "number"}},
    {"title_not_a_text", R"({"name": "m", "title": 3, "layers": []})", "/title", {"number"}},
    {"family_not_a_text", R"({"name": "m", "family": 3, "layers": []})", "/family", {"number"}},
    {"studies_not_a_list",
     R"({"name": "m", "studies": "one", "layers": []})",
     "/studies",
     {"string"}},
    {"alias_not_a_text",
     R"({"name": "m", "aliases": ["one", 2], "layers": []})",
     "/aliases/1",
     {"number"}},
    {"unknown_op",
     model(layer_of("convolution", "")),
     "/layers/0/op",
     {"convolution", "conv", "gemm"}},
    {"op_not_a_text", model(R"({"name": "a", "op": 3, "shape": {}})"), "/layers/0/op", {"number"}},
    {"weights_of_no_layer", with_weights_of("c", "2"), "/layers/1/weights_of", {"c"}},
    {"weights_of_itself", with_weights_of("b", "2"), "/layers/1/weights_of", {"b"}},
    {"weights_of_other_sizes", with_weights_of("a", "3"), "/layers/1/weights_of", {"a"}},
    {"fraction", conv("64.9"), "/layers/0/shape/c", {"64.9"}},
    {"zero", conv("0"), "/layers/0/shape/c", {"0", "1"}},
    {"zero_as_a_float", conv("0.0"), "/layers/0/shape/c", {"0", "1"}},
    {"negative", conv("-1"), "/layers/0/shape/c", {"-1", "1"}},
    {"too_large", conv("1099511627776"), "/layers/0/shape/c", {"1099511627776", "2147483647"}},
    {"too_large_by_one", conv("2147483648"), "/layers/0/shape/c", {"2147483648", "2147483647"}},
    {"past_64_bits", conv("18446744073709551615"), "/layers/0/shape/c", {"2147483647"}},
    {"far_past_64_bits", conv("1e300"), "/layers/0/shape/c", {"1e+300"}},
    {"boolean_size", conv("true"), "/layers/0/shape/c", {"boolean"}},
    {"null_size", conv("null"), "/layers/0/shape/c", {"null"}},
    {"object_size", conv("{}"), "/layers/0/shape/c", {"object"}},
    {"empty_product", conv("[]"), "/layers/0/shape/c", {"empty"}},
    {"zero_in_a_product", conv("[2, 0]"), "/layers/0/shape/c/1", {"0", "1"}},
    {"product_too_large",
     conv("[65536, 32768]"),
     "/layers/0/shape/c",
     {"2147483648", "2147483647"}},
    {"product_past_64_bits",
     conv("[2147483647, 2147483647, 2147483647]"),
     "/layers/0/shape/c",
     {"2^63"}},
    {"unknown_parameter", conv(R"("chanels")"), "/layers/0/shape/c", {"chanels", "parameters"}},
    {"zero_parameter",
     R"({"name": "m", "parameters": {"batch": 0}, "layers": []})",
     "/parameters/batch",
     {"0", "1"}},
    {"parameters_not_an_object",
     R"({"name": "m", "parameters": 3, "layers": []})",
     "/parameters",
     {"object", "number"}},
    {"bias_not_a_boolean", conv("4", R"(, "bias": 1)"), "/layers/0/shape/bias", {"true", "false"}},
    {"three_strides",
     conv("4", R"(, "stride": [1, 1, 1])"),
     "/layers/0/shape/stride",
     {"vertical", "horizontal"}},
    {"zero_stride", conv("4", R"(, "stride": [1, 0])"), "/layers/0/shape/stride/1", {"0", "1"}},
    {"three_pads",
     conv("4", R"(, "pad": [1, 1, 1])"),
     "/layers/0/shape/pad",
     {"top", "bottom", "left", "right"}},
    {"negative_pad", conv("4", R"(, "pad": [0, 0, 0, -1])"), "/layers/0/shape/pad/3", {"-1", "0"}},
    {"wrong_enum", pool(R"("maximum")"), "/layers/0/shape/kind", {"maximum", "max", "average"}},
    {"no_dims", model(join("[]") + "," + relu("b", "", "[]")), "/layers/1/shape/dims", {}},
    {"dims_not_a_list", model(relu("a", "", "8")), "/layers/0/shape/dims", {"number"}},
    {"epsilon_of_zero",
     model(layer_of("batchnorm", R"("n": 1, "c": 1, "h": 1, "w": 1, "epsilon": 0)")),
     "/layers/0/shape/epsilon",
     {"0", "1"}},
    {"axis_past_the_dims",
     model(layer_of("softmax", R"("dims": [2, 4], "axis": 2)")),
     "/layers/0/shape/axis",
     {"axis"}},
    {"order_without_an_axis",
     model(layer_of("reorder", R"("dims": [2, 4], "from": "ab", "to": "aa")")),
     "/layers/0/shape/to",
     {"b", "1"}},
    // values that do not go together
    {"groups_do_not_divide", conv("5", R"(, "groups": 2)"), "/layers/0/shape/groups", {"c"}},
    {"window_too_large", conv("4", R"(, "dilation": [4, 1])"), "/layers/0/shape/r", {"height"}},
    {"pad_beyond_the_window", pool(R"("max")", R"(, "pad": 2)"), "/layers/0/shape/pad", {"window"}},
    {"counted_padding_of_a_maximum",
     pool(R"("max")", R"(, "count_padding": false)"),
     "/layers/0/shape/count_padding",
     {"count_padding"}},
    {"work_past_64_bits",
     conv("2147483647", R"(, "pad": 1000000000)"),
     "/layers/0/shape",
     {"2^63"}},
    {"tensor_past_64_bits",
     model(relu("a", "", "[2147483647, 2147483647, 4]")),
     "/layers/0/shape",
     {"2^63"}},
    {"bytes_past_64_bits",
     model(relu("a", "", "[1073741824, 536870912]")),
     "/layers/0/shape",
     {"2^63"}},
    // names
    {"layer_name_in_capitals", model(relu("Relu")), "/layers/0/name", {"Relu"}},
    {"layer_name_with_a_space", model(relu("re lu")), "/layers/0/name", {"re lu"}},
    {"empty_layer_name", model(relu("")), "/layers/0/name", {"''"}},
    {"model_name_with_a_dash", R"({"name": "res-net", "layers": []})", "/name", {"res-net"}},
    {"same_name_twice", model(relu("a") + "," + relu("a")), "/layers/1/name", {"a"}},
    // the graph
    {"after_nobody", model(relu("a", R"(["b"])")), "/layers/0/after/0", {"b"}},
    {"after_not_a_list", model(relu("a", R"("b")")), "/layers/0/after", {"string"}},
    {"after_a_number", model(relu("a", "[3]")), "/layers/0/after/0", {"number"}},
    {"after_itself", model(relu("a", R"(["a"])")), "/layers/0/after", {"a", "cycle"}},
    {"cycle",
     model(relu("x") + "," + relu("a", R"(["b"])") + "," + relu("b", R"(["a"])")),
     "/layers/1/after",
     {"a", "cycle"}},
    {"cycle_by_default",
     model(relu("a", R"(["b"])") + "," + relu("b")),
     "/layers/0/after",
     {"a", "cycle"}},
    {"neighbours_disagree",
     model(relu("a") + "," + relu("b", "", "[2, 5]")),
     "/layers/1/shape",
     {"a", "b", "2x5", "2x4"}},
    {"neighbours_disagree_in_the_batch",
     model(relu("a", "", "[2, 3, 4]") + "," + relu("b", "", "[3, 8]")),
     "/layers/1/shape",
     {"a", "b", "3x8", "2x3x4"}},
    {"split_rows",
     model(layer_of("gemm", R"("m": 1, "n": 4096, "k": 3)") + "," +
           layer_of("gemm", R"("m": 8, "n": 3, "k": 512)", "", "b")),
     "/layers/1/shape",
     {"8x512", "1x4096"}},
    {"addition_of_one", model(relu("b") + "," + join("")), "/layers/1", {"2", "1", "after"}},
    {"addition_of_one_by_name",
     model(relu("b") + "," + join(R"(["b"])")),
     "/layers/1/after",
     {"2", "1", "after"}},
    {"addition_of_three",
     model(relu("b") + "," + join(R"(["b", "b", "b"])")),
     "/layers/1/after",
     {"2", "3", "after"}},
};

class bad_shape_file : public ::testing::TestWithParam<bad_file> {};

TEST_P(bad_shape_file, is_refused_with_file_and_place) {
  const testing::temporary_directory directory;
  const std::string error = refusal(directory.write("bad.json", GetParam().text));
  const std::string& pointer = GetParam().pointer;
  if (pointer.empty()) {
    EXPECT_THAT(error, Not(HasSubstr("/")));
  } else {
    EXPECT_THAT(error, mentions(pointer));
  }
  const std::size_t end = pointer.empty() ? 0 : error.find(pointer) + pointer.size();
  const std::string reason = error.substr(std::min(end, error.size()));
  for (const std::string& word : GetParam().words) EXPECT_THAT(reason, mentions(word));
  EXPECT_THAT(error, Not(HasSubstr("exception")));
}

INSTANTIATE_TEST_SUITE_P(model, bad_shape_file, ::testing::ValuesIn(bad_files),
                         [](const auto& tested) { return tested.param.name; });

TEST(bad_path, is_refused) {
  const testing::temporary_directory directory;
  const std::filesystem::path file = directory.write("file", "{}");
  EXPECT_THAT(refusal(directory.path()), mentions("directory"));
  for (const std::filesystem::path& unreadable :
       {directory.path() / "missing.json", file / "below_a_file.json",
        directory.path() / std::string(300, 'x')}) {
    EXPECT_THAT(refusal(unreadable), Not(AnyOf(mentions("directory"), HasSubstr("JSON"))));
  }
}

TEST(onnx_model, is_read_by_the_importer_of_a_program) {
  const testing::temporary_directory directory;
  const std::filesystem::path file = directory.write("net.onnx", "no JSON");
  EXPECT_THROW(static_cast<void>(load(file)), unavailable) << "the headers alone read none";
  importer_of_models() = [](const std::filesystem::path& path) {
    return R"({"name": ")" + path.stem().string() + R"(", "left_out": 0.25, "layers": [)" +
           relu("a") + "]}";
  };
  const graph g = load(file);
  importer_of_models() = nullptr;
  EXPECT_EQ(g.name, "net");
  EXPECT_EQ(g.left_out, 0.25);
}

TEST(bad_batch, is_refused) {
  const testing::temporary_directory directory;
  const std::string fixed = R"({"name": "m", "layers": [)" + relu("a") + "]}";
  EXPECT_THAT(refusal(directory.write("fixed.json", fixed), 8),
              mentions("/", "batch", "parameters"));
  EXPECT_THAT(refusal(directory.write("zero.json", conv("4")), 0),
              mentions("/layers/0/shape/n", "1"));
}

}  // namespace model_bad_file_test
}  // namespace layerbench::model
