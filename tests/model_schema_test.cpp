// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>

#include <gmock/gmock.h>

#include <layerbench/model/schema.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/op/builtin.hpp>

#include "support/program.hpp"

namespace layerbench::model {
namespace model_schema_test {

const std::string schema_file = LAYERBENCH_SHAPES_DIR "/schema.json";

/// Validates files in Python's jsonschema; prints what is wrong. Layers of the same op and sizes
/// are looked at once: validation is slow, and models repeat them.
constexpr auto validator = R"(
import json, sys
try:
    from jsonschema import Draft202012Validator as Validator
except ImportError:
    sys.exit('jsonschema is missing: tools/setup.sh --dev installs python3-jsonschema')
schema = json.load(open(sys.argv[1]))
Validator.check_schema(schema)
def load(path):
    file = json.load(open(path))
    if 'layers' in file:
        file['layers'] = list({json.dumps([layer['op'], layer['shape']]): layer
                               for layer in file['layers']}.values())
    return file
slips = [f'{path}: {slip.json_path}: {slip.message}' for path in sys.argv[2:]
         for slip in Validator(schema).iter_errors(load(path))]
if slips:
    sys.exit('\n'.join(slips))
)";

testing::outcome validate(const std::vector<std::string>& files) {
  std::vector<std::string> arguments{"-c", validator, schema_file};
  arguments.insert(arguments.end(), files.begin(), files.end());
  return testing::run(LAYERBENCH_PYTHON, arguments);
}

TEST(Schema, IsTheOneCheckedIn) {
  EXPECT_EQ(json::read_text(schema_file), schema(op::builtin_catalog()).dump(2) + '\n')
      << "an op has changed; run: layerbench list --schema -o shapes/schema.json";
}

TEST(Schema, AcceptsEveryModelAndSweep) {
  std::vector<std::string> files;
  for (const char* folder : {LAYERBENCH_SHAPES_DIR "/models", LAYERBENCH_SHAPES_DIR "/sweeps"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      files.push_back(entry.path().string());
    }
  }
  EXPECT_GE(files.size(), 3U);
  const testing::outcome done = validate(files);
  EXPECT_EQ(done.exit_code, 0) << done.err;
}

/// A model of one layer.
std::string model_of(const std::string& layer) {
  return R"({"name": "m", "parameters": {"batch": 1}, "layers": [)" + layer + "]}";
}

TEST(Schema, RefusesWhatTheLoaderRefuses) {
  const testing::temporary_directory scratch;
  const std::vector<std::string> wrong{
      R"({"name": "m"})",
      R"({"name": "m", "layers": []})",
      R"({"name": "m", "layers": [], "colour": "red"})",
      R"({"name": "m", "studies": "one", "layers": [
          {"name": "a", "op": "add", "shape": {"dims": [1]}}]})",
      model_of(R"({"name": "A", "op": "add", "shape": {"dims": [1]}})"),
      model_of(R"({"name": "a", "op": "warp", "shape": {"dims": [1]}})"),
      model_of(R"({"name": "a", "op": "add", "shape": {"dims": []}})"),
      model_of(R"({"name": "a", "op": "add", "shape": {"dims": [0]}})"),
      model_of(R"({"name": "a", "op": "add", "shape": {"dims": [1.5]}})"),
      model_of(R"({"name": "a", "op": "add", "shape": {"dims": [1], "n": 1}})"),
      model_of(R"({"name": "a", "op": "gemm", "shape": {"m": 1, "n": 2}})"),
      model_of(R"({"name": "a", "op": "activation", "shape": {"kind": "sin", "dims": [1]}})"),
      model_of(R"({"name": "a", "op": "gemm", "shape": {"m": 1, "n": 2, "k": 3, "bias": 1}})"),
      model_of(R"({"name": "a", "op": "conv", "shape": {"n": 1, "c": 1, "h": 9, "w": 9, "k": 1,
               "r": 3, "s": 3, "stride": [1, 1, 1]}})"),
      model_of(R"({"name": "a", "op": "conv", "shape": {"n": 1, "c": 1, "h": 9, "w": 9, "k": 1,
               "r": 3, "s": 3, "pad": [-1, 0]}})")};
  for (const std::string& text : wrong) {
    const std::string path = scratch.write("m.json", text).string();
    EXPECT_THAT(validate({path}).err, ::testing::HasSubstr(path)) << text;
    EXPECT_THROW(static_cast<void>(load(path)), bad_input) << text;
  }
}

TEST(Schema, AcceptsEveryFormOfASize) {
  const testing::temporary_directory scratch;
  const std::string path =
      scratch
          .write("m.json",
                 model_of(R"({"name": "a", "op": "conv", "shape": {"n": "batch", "c": [2, 3],
                          "h": 9, "w": 9, "k": 6, "r": 3, "s": 3, "stride": [1, 2],
                          "pad": [0, 1, 1, 0], "dilation": 1, "groups": 2, "bias": true}})"))
          .string();
  EXPECT_EQ(validate({path}).err, "");
  EXPECT_NO_THROW(static_cast<void>(load(path)));
}

}  // namespace model_schema_test
}  // namespace layerbench::model
