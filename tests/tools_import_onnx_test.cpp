// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "support/mentions.hpp"
#include "support/onnx_file.hpp"
#include "support/program.hpp"
#include "support/temporary_directory.hpp"

/// `layerbench import onnx` on models that are written here. tests/onnx_test.py has those of
/// PyTorch.
namespace layerbench {
namespace tools_import_onnx_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::mentions;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
namespace pb = testing::onnx;
using pb::f;
using pb::i;
using pb::ints;
using pb::s;

using strings = std::vector<std::string>;

class ImportOnnx : public ::testing::Test {
 protected:
  testing::outcome import(const std::string& bytes, strings more = {}) {
    more.insert(more.begin(), {"import", "onnx", directory_.write("net.onnx", bytes).string()});
    return testing::run(LAYERBENCH_TOOL, more);
  }
  testing::outcome show(const std::string& shape_file, strings more = {}) {
    more.insert(more.begin(), {"show", directory_.write("mine.json", shape_file).string()});
    return testing::run(LAYERBENCH_TOOL, more);
  }

  /// The shape file, which must load.
  json::value file_of(const std::string& bytes, const strings& more = {}) {
    const testing::outcome done = import(bytes, more);
    EXPECT_EQ(done.exit_code, 0) << done.err;
    if (done.exit_code != 0) return json::value::object({{"layers", json::value::array()}});
    const testing::outcome shown = show(done.out);
    EXPECT_EQ(shown.exit_code, 0) << shown.err << done.out;
    return json::value::parse(done.out);
  }

  /// Op and shape of each layer, as in "softmax {dims: [batch, 5]}".
  strings layers_of(const pb::model& of, const strings& more = {"--no-softmax"}, int opset = 20) {
    strings lines;
    const json::value file = file_of(of.bytes(opset), more);
    for (const json::value& layer : file["layers"]) {
      std::string line = layer["op"].get<std::string>() + ' ' + layer["shape"].dump();
      std::erase(line, '"');
      lines.push_back(line);
    }
    return lines;
  }

  /// The layers of one node that reads an image of 8x7 with 6 channels.
  strings of_image(const std::string& op, const std::vector<pb::message>& attributes,
                   const pb::names& weights = {}, int opset = 20) {
    pb::model net = base();
    pb::names inputs{"x"};
    inputs.insert(inputs.end(), weights.begin(), weights.end());
    net.node(op, inputs, {"y"}, attributes).output("y");
    return layers_of(net, {"--no-softmax"}, opset);
  }

  static pb::model base() {
    pb::model net;
    net.input("x", {-1, 6, 8, 7})
        .weight("w3x3", {4, 6, 3, 3})
        .weight("w_groups", {4, 3, 3, 3})
        .weight("w_up", {6, 2, 3, 3})
        .weight("c4", {4})
        .weight("c6", {6})
        .numbers("spatial", {2, 3})
        .numbers("channels", {1});
    return net;
  }

  testing::temporary_directory directory_;
};

/// What `layers_of` says of an image that an op reads.
std::string image(const std::string& op, const std::string& rest) {
  return fmt::format("{} {{n:batch,c:6,h:8,w:7{}}}", op, rest.empty() ? "" : "," + rest);
}

#if !LAYERBENCH_HAS_PROTOBUF

TEST_F(ImportOnnx, SaysWhatIsMissing) {
  const testing::outcome done = import(base().bytes());
  EXPECT_EQ(done.exit_code, 77);
  EXPECT_THAT(done.err, mentions("libprotobuf-dev"));
  const std::string file = (directory_.path() / "net.onnx").string();
  EXPECT_EQ(testing::run(LAYERBENCH_TOOL, {"show", file}).exit_code, 77);
}

#else

// Images.

TEST_F(ImportOnnx, PadsOfConvolutions) {
  const auto conv = [&](const std::vector<pb::message>& attributes) {
    return of_image("Conv", attributes, {"w3x3", "c4"});
  };
  const auto expected = [](const std::string& rest) {
    return ElementsAre(image("conv", "k:4,r:3,s:3" + rest + ",bias:true"));
  };
  EXPECT_THAT(conv({}), expected(""));
  EXPECT_THAT(conv({ints("pads", {1, 0, 2, 3})}), expected(",pad:[1,2,0,3]"));
  EXPECT_THAT(conv({ints("strides", {2, 2}), s("auto_pad", "SAME_UPPER")}),
              expected(",stride:2,pad:[0,1,1,1]"));
  EXPECT_THAT(conv({ints("strides", {2, 2}), s("auto_pad", "SAME_LOWER")}),
              expected(",stride:2,pad:[1,0,1,1]"));
  EXPECT_THAT(conv({s("auto_pad", "VALID"), ints("dilations", {1, 2})}),
              expected(",dilation:[1,2]"));
}

TEST_F(ImportOnnx, ConvolutionsOfOtherKinds) {
  EXPECT_THAT(of_image("Conv", {i("group", 2), ints("pads", {1, 1, 1, 1})}, {"w_groups"}),
              ElementsAre(image("conv", "k:4,r:3,s:3,pad:1,groups:2")));
  EXPECT_THAT(of_image("ConvTranspose",
                       {i("group", 2), ints("strides", {2, 2}), ints("output_padding", {1, 0}),
                        ints("pads", {1, 1, 1, 1})},
                       {"w_up", "c4"}),
              ElementsAre(image("deconv",
                                "k:4,r:3,s:3,stride:2,pad:1,output_pad:[1,0],groups:2,bias:true")));
  pb::model signal;
  signal.input("x", {-1, 4, 64}).weight("w", {8, 4, 5});
  signal.node("Conv", {"x", "w"}, {"y"}, {ints("strides", {2}), ints("pads", {2, 1})}).output("y");
  EXPECT_THAT(layers_of(signal),
              ElementsAre("conv {n:batch,c:4,h:1,w:64,k:8,r:1,s:5,stride:[1,2],pad:[0,0,2,1]}"));
}

TEST_F(ImportOnnx, Volumes) {
  pb::model net;
  net.input("x", {-1, 4, 9, 8, 7}).weight("w", {8, 4, 3, 3, 1}).weight("up", {8, 2, 2, 2, 2});
  net.node("Conv", {"x", "w"}, {"a"},
           {ints("strides", {2, 1, 1}), ints("pads", {1, 0, 0, 1, 1, 0})})
      .node("MaxPool", {"a"}, {"b"}, {ints("kernel_shape", {1, 7, 1})})
      .node("ConvTranspose", {"b", "up"}, {"c"},
            {ints("strides", {2, 2, 2}), ints("output_padding", {1, 0, 0})})
      .node("GlobalAveragePool", {"c"}, {"y"})
      .output("y");
  EXPECT_THAT(
      layers_of(net),
      ElementsAre("conv {n:batch,c:4,h:8,w:7,k:8,r:3,s:1,pad:[0,1,0,0],d:9,t:3,depth_stride:2,"
                  "depth_pad:1}",
                  "pool {kind:max,n:batch,c:8,h:7,w:7,r:7,s:1,stride:1,d:5}",
                  "deconv {n:batch,c:8,h:1,w:7,k:2,r:2,s:2,stride:2,d:5,t:2,depth_stride:2,"
                  "depth_output_pad:1}",
                  "pool {kind:average,n:batch,c:2,h:2,w:14,r:2,s:14,stride:1,d:11,t:11}"));
  pb::model uneven;
  uneven.input("x", {-1, 4, 9, 8, 7}).weight("w", {8, 4, 3, 3, 1});
  uneven.node("Conv", {"x", "w"}, {"y"}, {ints("pads", {1, 0, 0, 2, 0, 0})}).output("y");
  const testing::outcome refused = import(uneven.bytes());
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_THAT(refused.err, mentions("padding"));
}

TEST_F(ImportOnnx, Pools) {
  const auto window = [](std::int64_t size, std::int64_t stride) {
    return std::vector{ints("kernel_shape", {size, size}), ints("strides", {stride, stride})};
  };
  const auto with = [](std::vector<pb::message> all, const pb::message& more) {
    all.push_back(more);
    return all;
  };
  EXPECT_THAT(of_image("MaxPool", window(3, 2)),
              ElementsAre("pool {kind:max,n:batch,c:6,h:8,w:7,r:3,s:3,stride:2}"));
  EXPECT_THAT(of_image("MaxPool", with(window(3, 2), i("ceil_mode", 1))),
              ElementsAre("pool {kind:max,n:batch,c:6,h:8,w:7,r:3,s:3,stride:2,ceil:true}"));
  EXPECT_THAT(of_image("AveragePool", with(window(2, 2), s("auto_pad", "SAME_UPPER"))),
              ElementsAre("pool {kind:average,n:batch,c:6,h:8,w:7,r:2,s:2,stride:2,pad:[0,0,0,1],"
                          "count_padding:false}"));
  EXPECT_THAT(of_image("AveragePool", with(with(window(3, 1), ints("pads", {1, 1, 1, 1})),
                                           i("count_include_pad", 1))),
              ElementsAre("pool {kind:average,n:batch,c:6,h:8,w:7,r:3,s:3,stride:1,pad:1}"));
  const std::string all = "{kind:average,n:batch,c:6,h:8,w:7,r:8,s:7,stride:1}";
  EXPECT_THAT(of_image("GlobalAveragePool", {}), ElementsAre("pool " + all));
  EXPECT_THAT(of_image("ReduceMean", {}, {"spatial"}), ElementsAre("pool " + all));
  EXPECT_THAT(of_image("ReduceMean", {ints("axes", {-1, 2}), i("keepdims", 0)}, {}, 13),
              ElementsAre("pool " + all));
  EXPECT_THAT(of_image("GlobalMaxPool", {}), ElementsAre(HasSubstr("kind:max")));
  // A window of one position is the image itself.
  pb::model net = base();
  net.node("AveragePool", {"x"}, {"a"}, {ints("kernel_shape", {1, 1})}).node("Relu", {"a"}, {"y"});
  EXPECT_THAT(layers_of(net.output("y")), SizeIs(1));
}

TEST_F(ImportOnnx, Normalizations) {
  EXPECT_THAT(of_image("BatchNormalization", {f("epsilon", 1e-3F)}, {"c6", "c6", "c6", "c6"}),
              ElementsAre(image("batchnorm", "epsilon:0.001")));
  EXPECT_THAT(of_image("LRN", {i("size", 5), f("alpha", 2e-4F), f("bias", 2)}),
              ElementsAre(image("lrn", "size:5,alpha:0.0002,k:2.0")));
  pb::model caffe = base();
  caffe.weight("scale", {6, 1, 1}).weight("shift", {6, 1, 1});
  caffe.node("BatchNormalization", {"x", "c6", "c6", "c6", "c6"}, {"a"});
  caffe.node("Mul", {"a", "scale"}, {"b"}).node("Add", {"b", "shift"}, {"y"}).output("y");
  EXPECT_THAT(layers_of(caffe), ElementsAre("batchnorm {n:batch,c:6,h:8,w:7}"));
  pb::model net;
  net.input("x", {-1, 9, 16}).weight("scale", {16}).weight("shift", {16});
  net.node("LayerNormalization", {"x", "scale", "shift"}, {"a"}, {f("epsilon", 1e-6F)});
  net.node("RMSNormalization", {"a", "scale"}, {"y"}).output("y");
  EXPECT_THAT(layers_of(net), ElementsAre("layernorm {dims:[batch,9,16],epsilon:1e-06}",
                                          "layernorm {dims:[batch,9,16],kind:rms}"));
}

TEST_F(ImportOnnx, NormalizationsInSteps) {
  pb::model net;
  net.input("x", {-1, 9, 16}).weight("scale", {16}).weight("shift", {16});
  net.real("two", 2).real("epsilon", 1e-6F);
  const std::vector last{ints("axes", {-1})};
  net.node("ReduceMean", {"x"}, {"mean"}, last).node("Sub", {"x", "mean"}, {"d"});
  net.node("Pow", {"d", "two"}, {"d2"}).node("ReduceMean", {"d2"}, {"v"}, last);
  net.node("Add", {"v", "epsilon"}, {"ve"}).node("Sqrt", {"ve"}, {"root"});
  net.node("Div", {"d", "root"}, {"n"}).node("Mul", {"n", "scale"}, {"ns"});
  net.node("Add", {"ns", "shift"}, {"a"});
  net.node("Mul", {"a", "a"}, {"a2"}).node("ReduceMean", {"a2"}, {"av"}, last);
  net.node("Add", {"epsilon", "av"}, {"ave"}).node("Sqrt", {"ave"}, {"aroot"});
  net.node("Reciprocal", {"aroot"}, {"inverse"}).node("Mul", {"a", "inverse"}, {"an"});
  net.node("Mul", {"scale", "an"}, {"y"}).output("y");
  EXPECT_THAT(layers_of(net, {}, 13),
              ElementsAre("layernorm {dims:[batch,9,16],epsilon:1e-06}",
                          "layernorm {dims:[batch,9,16],kind:rms,epsilon:1e-06}"));
}

// By element.

TEST_F(ImportOnnx, Activations) {
  const auto kind = [&](const std::string& op, const std::vector<pb::message>& attributes = {}) {
    const strings found = of_image(op, attributes);
    EXPECT_THAT(found, SizeIs(1)) << op;
    return found.empty() ? "" : found[0].substr(0, found[0].find(','));
  };
  for (const auto& [op, name] :
       std::vector<std::pair<std::string, std::string> >{{"Relu", "relu"},
                                                         {"LeakyRelu", "leaky_relu"},
                                                         {"Elu", "elu"},
                                                         {"Sigmoid", "sigmoid"},
                                                         {"Tanh", "tanh"},
                                                         {"HardSigmoid", "hardsigmoid"},
                                                         {"HardSwish", "hardswish"},
                                                         {"Gelu", "gelu"},
                                                         {"Swish", "swish"}}) {
    EXPECT_EQ(kind(op), "activation {kind:" + name) << op;
  }
  EXPECT_EQ(kind("Clip", {f("min", 0), f("max", 6)}), "activation {kind:relu6");
  const testing::outcome done =
      import(base().node("LeakyRelu", {"x"}, {"y"}, {f("alpha", 0.3F)}).output("y").bytes());
  EXPECT_THAT(done.err, mentions("note", "0.3", "0.01"));
}

TEST_F(ImportOnnx, ActivationsInSteps) {
  const auto net = [] {
    pb::model result = base();
    result.real("half", 0.5F).real("one", 1).real("root2", 1.41421356F).real("three", 3);
    return result.real("c", 0.044715F).real("s", 0.79788456F).real("six", 6).real("zero", 0);
  };
  const auto expect = [&](const pb::model& of, const std::string& kind) {
    EXPECT_THAT(layers_of(of), ElementsAre("activation {kind:" + kind + ",dims:[batch,6,8,7]}"));
  };
  pb::model erf = net();
  erf.node("Div", {"x", "root2"}, {"a"}).node("Erf", {"a"}, {"b"}).node("Add", {"b", "one"}, {"d"});
  erf.node("Mul", {"x", "d"}, {"e"}).node("Mul", {"e", "half"}, {"y"}).output("y");
  expect(erf, "gelu");
  pb::model tanh = net();
  tanh.node("Pow", {"x", "three"}, {"a"}).node("Mul", {"c", "a"}, {"b"});
  tanh.node("Add", {"x", "b"}, {"d"}).node("Mul", {"s", "d"}, {"e"}).node("Tanh", {"e"}, {"g"});
  tanh.node("Add", {"one", "g"}, {"h"}).node("Mul", {"half", "x"}, {"j"});
  tanh.node("Mul", {"j", "h"}, {"y"}).output("y");
  expect(tanh, "gelu");
  pb::model swish = net();
  swish.node("Sigmoid", {"x"}, {"a"}).node("Mul", {"x", "a"}, {"y"}).output("y");
  expect(swish, "swish");
  pb::model hard = net();
  hard.node("Add", {"x", "three"}, {"a"}).node("Clip", {"a", "zero", "six"}, {"b"});
  hard.node("Mul", {"x", "b"}, {"d"}).node("Div", {"d", "six"}, {"y"}).output("y");
  expect(hard, "hardswish");
}

TEST_F(ImportOnnx, ConstantsOfHalfPrecision) {
  constexpr int f16 = 10;
  constexpr int bf16 = 16;
  const auto gelu = [&](int type, bool as_bytes) {
    pb::model net = base();
    const auto constant = [&](const std::string& name, float value) {
      const auto bits =
          type == f16 ? std::bit_cast<std::uint16_t>(static_cast<_Float16>(value))
                      : static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16U);
      pb::message tensor = pb::tensor(name, {}, type);
      if (as_bytes) {
        tensor.text(9, {static_cast<char>(bits & 0xFFU), static_cast<char>(bits >> 8U)});
      } else {
        tensor.number(5, bits);
      }
      net.raw(5, tensor);
    };
    constant("c", 0.044715F);
    constant("s", 0.79788456F);
    constant("three", 3);
    constant("one", 1);
    constant("half", 0.5F);
    net.node("Pow", {"x", "three"}, {"a"}).node("Mul", {"c", "a"}, {"b"});
    net.node("Add", {"x", "b"}, {"d"}).node("Mul", {"s", "d"}, {"e"}).node("Tanh", {"e"}, {"g"});
    net.node("Add", {"one", "g"}, {"h"}).node("Mul", {"half", "x"}, {"j"});
    return net.node("Mul", {"j", "h"}, {"y"}).output("y");
  };
  for (const int type : {f16, bf16}) {
    for (const bool as_bytes : {true, false}) {
      EXPECT_THAT(layers_of(gelu(type, as_bytes)),
                  ElementsAre("activation {kind:gelu,dims:[batch,6,8,7]}"))
          << type;
    }
  }
  pb::model damaged = base();
  damaged.raw(5, pb::tensor("c", {}, f16).number(5, std::numeric_limits<std::int64_t>::max()));
  EXPECT_EQ(import(damaged.node("Pow", {"x", "c"}, {"y"}).output("y").bytes()).exit_code, 4);
}

TEST_F(ImportOnnx, SumsAndProducts) {
  pb::model net = base();
  net.weight("row", {7}).weight("whole", {1, 6, 8, 7});
  net.node("Relu", {"x"}, {"a"}).node("Tanh", {"a"}, {"b"}).node("Sum", {"a", "b", "a"}, {"d"});
  net.node("GlobalAveragePool", {"d"}, {"g"}).node("Mul", {"g", "d"}, {"e"});
  net.node("Add", {"whole", "e"}, {"y"}).output("y");
  EXPECT_THAT(layers_of(net),
              ElementsAre(HasSubstr("relu"), HasSubstr("tanh"), "add {dims:[batch,6,8,7]}",
                          "add {dims:[batch,6,8,7]}", StartsWith("pool"),
                          "multiply {dims:[batch,6,8,7],dims1:[batch,6,1,1]}",
                          "add {dims:[batch,6,8,7],broadcast:true,learned:true}"));
  const testing::outcome done =
      import(base().node("Relu", {"x"}, {"a"}).node("Mul", {"a", "c6"}, {"y"}).output("y").bytes());
  EXPECT_EQ(done.exit_code, 3);  // 6 does not fit 7
}

TEST_F(ImportOnnx, DropoutIsALayer) {
  pb::model net = base();
  net.real("rate", 0.2F);
  net.node("Relu", {"x"}, {"a"})
      .node("Dropout", {"a", "rate"}, {"b"})
      .node("Dropout", {"b"}, {"y"});
  EXPECT_THAT(layers_of(net.output("y")),
              ElementsAre(HasSubstr("relu"), "dropout {rate:0.2,dims:[batch,6,8,7]}",
                          "dropout {dims:[batch,6,8,7]}"));
}

TEST_F(ImportOnnx, Softmax) {
  const auto of = [&](int opset, const std::vector<pb::message>& attributes) {
    pb::model net;
    net.input("x", {-1, 5, 4}).node("Relu", {"x"}, {"a"}).node("Softmax", {"a"}, {"y"}, attributes);
    return import(net.output("y").bytes(opset)).exit_code;
  };
  EXPECT_EQ(of(13, {}), 0);
  EXPECT_EQ(of(13, {i("axis", 1)}), 0);
  EXPECT_EQ(of(11, {}), 0);  // over both last axes
  EXPECT_EQ(of(11, {i("axis", 2)}), 0);
  pb::model classifier;
  classifier.input("x", {-1, 4}).weight("w", {5, 4});
  classifier.node("Gemm", {"x", "w"}, {"y"}, {i("transB", 1)}).output("y");
  EXPECT_THAT(layers_of(classifier, {}),
              ElementsAre("gemm {m:batch,n:5,k:4,b_transposed:true}", "softmax {dims:[batch,5]}"));
  EXPECT_THAT(layers_of(classifier), SizeIs(1));
}

// Products of matrices, and what reads them.

TEST_F(ImportOnnx, Products) {
  pb::model net;
  net.input("x", {-1, 9, 16}).weight("w", {16, 8}).weight("b", {8}).weight("v", {8, 16});
  net.node("MatMul", {"x", "w"}, {"a"}).node("Add", {"b", "a"}, {"c"});
  net.node("MatMul", {"c", "v"}, {"d"}).node("Transpose", {"d"}, {"t"}, {ints("perm", {0, 2, 1})});
  net.numbers("heads", {0, 9, 2, 8}).node("Reshape", {"d", "heads"}, {"h"});
  net.node("Transpose", {"h"}, {"p"}, {ints("perm", {0, 2, 1, 3})});
  net.node("Transpose", {"h"}, {"q"}, {ints("perm", {0, 2, 3, 1})});
  net.node("MatMul", {"p", "q"}, {"y"}).output("y");
  EXPECT_THAT(layers_of(net),
              ElementsAre("gemm {m:[batch,9],n:8,k:16,bias:true}", "gemm {m:[batch,9],n:16,k:8}",
                          HasSubstr("order:[0,2,1,3]"),
                          "gemm {m:9,n:9,k:8,batch:[batch,2],b_transposed:true}"));
}

/// One head of `width` values for each of 2 heads of 9 tokens, from a model's input.
pb::model heads() {
  pb::model net;
  net.input("x", {-1, 9, 16}).weight("w", {16, 16}).numbers("split", {0, 9, 2, 8});
  net.numbers("join", {0, 9, 16}).real("scale", 0.35355339F);
  for (const std::string one : {"q", "k", "v"}) {
    net.node("MatMul", {"x", "w"}, {one + "1"}).node("Reshape", {one + "1", "split"}, {one + "2"});
    net.node("Transpose", {one + "2"}, {one}, {ints("perm", {0, 2, 1, 3})});
  }
  return net;
}

TEST_F(ImportOnnx, AttentionInSteps) {
  pb::model net = heads();
  net.node("Transpose", {"k"}, {"kt"}, {ints("perm", {0, 1, 3, 2})});
  net.node("MatMul", {"q", "kt"}, {"a"}).node("Mul", {"a", "scale"}, {"b"});
  net.node("Softmax", {"b"}, {"c"}).node("MatMul", {"c", "v"}, {"d"});
  net.node("Transpose", {"d"}, {"e"}, {ints("perm", {0, 2, 1, 3})});
  net.node("Reshape", {"e", "join"}, {"g"}).node("MatMul", {"g", "w"}, {"y"}).output("y");
  EXPECT_THAT(layers_of(net),
              ElementsAre(StartsWith("gemm"), StartsWith("gemm"), StartsWith("gemm"),
                          "attention {n:batch,heads:2,q:9,k:9,d:8}", StartsWith("gemm")));
}

TEST_F(ImportOnnx, MasksOfAttention) {
  const auto masked = [&](std::int64_t last_hidden) {
    pb::model net = heads();
    net.numbers("positions", {0, 1, 2, 3, 4, 5, 6, 7, 8}).numbers("column", {1});
    net.numbers("shift", {last_hidden}).real("zero", 0).real("lowest", -1e30F);
    net.node("Unsqueeze", {"positions", "column"}, {"rows"});
    net.node("Add", {"rows", "shift"}, {"seen"});
    net.node("LessOrEqual", {"positions", "seen"}, {"visible"});
    net.node("Where", {"visible", "zero", "lowest"}, {"mask"});
    net.node("Transpose", {"k"}, {"kt"}, {ints("perm", {0, 1, 3, 2})});
    net.node("Mul", {"q", "scale"}, {"qs"}).node("MatMul", {"qs", "kt"}, {"a"});
    net.node("Add", {"a", "mask"}, {"b"}).node("Softmax", {"b"}, {"c"});
    net.node("MatMul", {"c", "v"}, {"y"}).output("y");
    return import(net.bytes());
  };
  EXPECT_THAT(masked(0).out, HasSubstr("\"causal\": true"));
  EXPECT_THAT(masked(9).out, Not(HasSubstr("causal")));  // hides nothing
  EXPECT_THAT(masked(9).err, Not(HasSubstr("mask")));
  EXPECT_THAT(masked(-1).out, Not(HasSubstr("causal")));
  EXPECT_THAT(masked(-1).err, mentions("note", "mask"));
}

TEST_F(ImportOnnx, MasksThatAreInputsAreLeftOut) {
  pb::model net = heads();
  net.input("present", {-1, 9}).numbers("added", {1, 2}).real("one", 1).real("lowest", -1e30F);
  net.node("Unsqueeze", {"present", "added"}, {"wide"}).node("Sub", {"one", "wide"}, {"absent"});
  net.node("Mul", {"absent", "lowest"}, {"mask"});
  net.node("Transpose", {"k"}, {"kt"}, {ints("perm", {0, 1, 3, 2})});
  net.node("Mul", {"q", "scale"}, {"qs"}).node("MatMul", {"qs", "kt"}, {"a"});
  net.node("Add", {"a", "mask"}, {"b"}).node("Softmax", {"b"}, {"c"});
  net.node("MatMul", {"c", "v"}, {"y"}).output("y");
  const testing::outcome done = import(net.bytes());
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.err, mentions("note", "mask"));
}

TEST_F(ImportOnnx, AttentionAsOneNode) {
  pb::model flat;
  flat.input("x", {-1, 9, 16}).weight("w", {16, 16}).weight("narrow", {16, 8});
  flat.node("MatMul", {"x", "w"}, {"q"}).node("MatMul", {"x", "narrow"}, {"k"});
  flat.node("MatMul", {"x", "narrow"}, {"v"});
  flat.node("Attention", {"q", "k", "v"}, {"y"},
            {i("q_num_heads", 4), i("kv_num_heads", 2), i("is_causal", 1)});
  EXPECT_THAT(layers_of(flat.output("y"), {}, 23),
              ElementsAre(StartsWith("gemm"), StartsWith("gemm"), StartsWith("gemm"),
                          "attention {n:batch,heads:4,q:9,k:9,d:4,kv_heads:2,causal:true}"));
  pb::model deep = heads();
  deep.node("Attention", {"q", "k", "v"}, {"y"}).output("y");
  EXPECT_THAT(layers_of(deep, {}, 23),
              ::testing::Contains("attention {n:batch,heads:2,q:9,k:9,d:8}"));
  pb::model scaled = heads();
  scaled.node("Attention", {"q", "k", "v"}, {"y"}, {f("scale", 1)}).output("y");
  EXPECT_EQ(import(scaled.bytes(23)).exit_code, 4);
}

TEST_F(ImportOnnx, Embeddings) {
  pb::model net;
  net.input("words", {-1, 9}, 7).weight("table", {50, 16}).weight("places", {9, 16});
  net.numbers("positions", {0, 1, 2, 3, 4, 5, 6, 7, 8});
  net.node("Gather", {"table", "words"}, {"a"}).node("Gather", {"places", "positions"}, {"b"});
  net.node("Add", {"a", "b"}, {"y"}).output("y");
  EXPECT_THAT(layers_of(net), ElementsAre("embedding {n:[batch,9],rows:50,columns:16}",
                                          "embedding {n:9,rows:9,columns:16}",
                                          "add {dims:[batch,9,16],broadcast:true}"));
}

TEST_F(ImportOnnx, Recurrent) {
  pb::model net;
  net.input("x", {5, -1, 8}).weight("w", {2, 64, 8}).weight("r", {2, 64, 16}).weight("b", {2, 128});
  net.node("LSTM", {"x", "w", "r", "b"}, {"y"},
           {i("hidden_size", 16), s("direction", "bidirectional")});
  net.node("Transpose", {"y"}, {"t"}, {ints("perm", {0, 2, 1, 3})}).numbers("to", {0, 0, -1});
  net.weight("gw", {1, 12, 32}).weight("gr", {1, 12, 4}).weight("gb", {1, 24});
  net.node("Reshape", {"t", "to"}, {"z"});
  net.node("GRU", {"z", "gw", "gr", "gb"}, {"g"},
           {i("hidden_size", 4), i("linear_before_reset", 1)});
  net.numbers("one", {1}).node("Squeeze", {"g", "one"}, {"h"});
  net.weight("rw", {1, 3, 4}).weight("rr", {1, 3, 3}).weight("rb", {1, 6});
  net.node("RNN", {"h", "rw", "rr", "rb"}, {"k"}, {i("hidden_size", 3)}).output("k");
  EXPECT_THAT(
      layers_of(net),
      ElementsAre(
          "rnn {kind:lstm,batch:batch,steps:5,inputs:8,hidden:16,bidirectional:true,biases:2}",
          "rnn {kind:gru,batch:batch,steps:5,inputs:32,hidden:4,biases:2}",
          "rnn {kind:vanilla,batch:batch,steps:5,inputs:4,hidden:3,biases:2}"));
  pb::model bare;
  bare.input("x", {5, -1, 8}).weight("w", {1, 64, 8}).weight("r", {1, 64, 16});
  bare.node("LSTM", {"x", "w", "r"}, {"y"}, {i("hidden_size", 16)}).output("y");
  EXPECT_EQ(import(bare.bytes()).exit_code, 4);
}

TEST_F(ImportOnnx, TheLastStateIsTheLastStepOfOneDirection) {
  const auto net_of = [](const std::string& direction, std::size_t state) {
    pb::model net;
    const std::int64_t ways = direction == "bidirectional" ? 2 : 1;
    net.input("x", {5, -1, 8}).weight("w", {ways, 64, 8}).weight("r", {ways, 64, 16});
    net.weight("b", {ways, 128}).weight("out", {16, 2});
    net.node("LSTM", {"x", "w", "r", "b"}, {"y", "h", "c"},
             {i("hidden_size", 16), s("direction", direction)});
    net.number("first", 0).node("Gather", {state == 1 ? "h" : "c", "first"}, {"s"});
    return net.node("MatMul", {"s", "out"}, {"z"}).output("z");
  };
  const std::string lstm = "rnn {kind:lstm,batch:batch,steps:5,inputs:8,hidden:16,biases:2}";
  const std::string gemm = "gemm {m:batch,n:2,k:16}";
  EXPECT_THAT(layers_of(net_of("forward", 1)),
              ElementsAre(lstm, "slice {dims:[5,batch,16],axis:0,begin:4,size:1}", gemm));
  EXPECT_THAT(layers_of(net_of("reverse", 1)),
              ElementsAre(lstm, "slice {dims:[5,batch,16],axis:0,size:1}", gemm));
  const json::value file = file_of(net_of("forward", 1).bytes(), {"--no-softmax"});
  for (const json::value& layer : file.at("layers")) {
    EXPECT_FALSE(layer.contains("after")) << "each layer reads the one before";
  }
  for (const pb::model& other : {net_of("bidirectional", 1), net_of("forward", 2)}) {
    const testing::outcome done = import(other.bytes());
    EXPECT_EQ(done.exit_code, 4);
    EXPECT_THAT(done.err, HasSubstr("last state"));
  }
  EXPECT_EQ(import(net_of("forward", 1).output("c").bytes()).exit_code, 0) << "no layer reads it";
}

TEST_F(ImportOnnx, AStackOfRecurrentLayersIsOneLayer) {
  const auto net_of = [](bool reads_both, const std::string& last_direction,
                         const std::string& last_module) {
    pb::model net;
    net.input("x", {5, -1, 8}).numbers("one", {1});
    std::string before = "x";
    for (const std::int64_t layer : {0, 1, 2}) {
      const std::string n = std::to_string(layer);
      net.weight("w" + n, {1, 64, layer == 0 ? 8 : 16}).weight("r" + n, {1, 64, 16});
      net.weight("b" + n, {1, 128});
      net.node("LSTM", {before, "w" + n, "r" + n, "b" + n}, {"y" + n},
               {i("hidden_size", 16), s("direction", layer == 2 ? last_direction : "forward")},
               (layer == 2 ? last_module : "/lstm") + "/LSTM_" + n);
      net.node("Squeeze", {"y" + n, "one"}, {"s" + n});
      before = "s" + n;
    }
    if (reads_both) return net.node("Add", {"s1", "s2"}, {"z"}).output("z");
    return net.output("s2");
  };
  const std::string first = "rnn {kind:lstm,batch:batch,steps:5,inputs:8,hidden:16,biases:2}";
  const std::string one = "rnn {kind:lstm,batch:batch,steps:5,inputs:16,hidden:16,biases:2}";
  const std::string two =
      "rnn {kind:lstm,batch:batch,steps:5,inputs:16,hidden:16,layers:2,biases:2}";
  EXPECT_THAT(layers_of(net_of(false, "forward", "/lstm")), ElementsAre(first, two));
  EXPECT_THAT(layers_of(net_of(true, "forward", "/lstm")),
              ElementsAre(first, one, one, "add {dims:[5,batch,16]}"));
  EXPECT_THAT(layers_of(net_of(false, "reverse", "/lstm")), ElementsAre(first, one, one));
  EXPECT_THAT(layers_of(net_of(false, "forward", "/other")), ElementsAre(first, one, one));
}

TEST_F(ImportOnnx, ActivationsOfRecurrentLayersAreTheUsualOnes) {
  const auto code_of = [&](const std::string& op, std::int64_t gates, const strings& activations) {
    pb::model net;
    net.input("x", {5, -1, 8}).weight("w", {1, gates * 3, 8}).weight("r", {1, gates * 3, 3});
    net.weight("b", {1, 2 * gates * 3});
    net.node(op, {"x", "w", "r", "b"}, {"y"},
             {i("hidden_size", 3), pb::texts("activations", activations)});
    return import(net.output("y").bytes()).exit_code;
  };
  EXPECT_EQ(code_of("RNN", 1, {"Tanh"}), 0);
  EXPECT_EQ(code_of("RNN", 1, {"Relu"}), 4);
  EXPECT_EQ(code_of("LSTM", 4, {"Sigmoid", "Tanh", "Tanh"}), 0);
  EXPECT_EQ(code_of("LSTM", 4, {"HardSigmoid", "Tanh", "Tanh"}), 4);
}

TEST_F(ImportOnnx, NothingIsLeftOutInSilence) {
  pb::model vector = base();
  vector.weight("w7", {7}).node("MatMul", {"x", "w7"}, {"y"}).output("y");
  EXPECT_EQ(import(vector.bytes()).exit_code, 4) << "the extents of the result are not known";
  pb::model second = base();
  second.weight("scale", {7}).node("LayerNormalization", {"x", "scale"}, {"a", "mean"});
  second.node("Relu", {"mean"}, {"y"}).output("y");
  EXPECT_EQ(import(second.bytes()).exit_code, 4) << "no layer writes the mean";
}

// Parts of tensors, and views.

TEST_F(ImportOnnx, Parts) {
  pb::model net = base();
  net.node("Relu", {"x"}, {"a"});
  net.numbers("sizes", {1, 2, 3}).node("Split", {"a", "sizes"}, {"s1", "s2", "s3"}, {i("axis", 1)});
  net.node("Split", {"a"}, {"h1", "h2"}, {i("axis", 2), i("num_outputs", 2)});
  net.numbers("begin", {-5}).numbers("end", {1000}).numbers("axis", {3});
  net.node("Slice", {"a", "begin", "end", "axis"}, {"t"}).number("last", -1);
  net.node("Gather", {"a", "last"}, {"g"}, {i("axis", 3)});
  net.node("Concat", {"s3", "s1"}, {"c"}, {i("axis", 1)});
  net.numbers("pads", {0, 0, 1, 2, 0, 0, 3, 4}).node("Pad", {"c", "pads"}, {"p"});
  for (const char* one : {"h2", "t", "g", "p"}) net.output(one);
  const std::string from = "slice {dims:[batch,6,8,7]";
  EXPECT_THAT(
      layers_of(net),
      ElementsAre(HasSubstr("relu"), from + ",size:1}", from + ",begin:3,size:3}",
                  from + ",axis:2,begin:4,size:4}", from + ",axis:3,begin:2,size:5}",
                  from + ",axis:3,begin:6,size:1}", "concat {dims:[batch,4,8,7],sizes:[3,1]}",
                  "pad {dims:[batch,4,8,7],before:[0,0,1,2],after:[0,0,3,4]}"));
}

TEST_F(ImportOnnx, SizesAreComputed) {
  pb::model net = base();
  net.weight("w", {336, 5}).number("zero", 0).numbers("rest", {-1}).numbers("first", {0});
  net.node("Relu", {"x"}, {"a"}).node("Shape", {"a"}, {"s"}).node("Gather", {"s", "zero"}, {"n"});
  net.node("Unsqueeze", {"n", "first"}, {"n1"})
      .node("Concat", {"n1", "rest"}, {"to"}, {i("axis", 0)});
  net.node("Reshape", {"a", "to"}, {"r"}).node("MatMul", {"r", "w"}, {"y"}).output("y");
  EXPECT_THAT(layers_of(net), ElementsAre(HasSubstr("relu"), "gemm {m:batch,n:5,k:336}"));
}

TEST_F(ImportOnnx, ClassTokensAreEmbeddings) {
  pb::model net;
  net.input("x", {-1, 9, 16}).weight("token", {1, 1, 16}).numbers("begin", {0}).numbers("end", {1});
  net.numbers("ones", {1, 1}).node("Relu", {"x"}, {"a"}).node("Shape", {"a"}, {"s"});
  net.node("Slice", {"s", "begin", "end"}, {"n"})
      .node("Concat", {"n", "ones"}, {"to"}, {i("axis", 0)});
  net.node("Expand", {"token", "to"}, {"t"}).node("Concat", {"t", "a"}, {"y"}, {i("axis", 1)});
  EXPECT_THAT(layers_of(net.output("y")),
              ElementsAre(HasSubstr("relu"), "embedding {n:batch,rows:1,columns:16}",
                          "concat {dims:[batch,10,16],sizes:[1,9]}"));
}

// The batch, names and what the file says.

pb::model classifier(const pb::sizes& input, const std::string& batch = "batch") {
  pb::model net;
  net.input("x", input, 1, batch).weight("w", {5, 12}).numbers("to", {-1, 12});
  net.node("Reshape", {"x", "to"}, {"a"}).node("Gemm", {"a", "w"}, {"y"}, {i("transB", 1)});
  return net.output("y");
}

TEST_F(ImportOnnx, TheBatch) {
  EXPECT_EQ(file_of(classifier({-1, 3, 4}).bytes())["parameters"]["batch"], 1);
  EXPECT_EQ(file_of(classifier({-1, 3, 4}, "N").bytes())["layers"][0]["shape"]["m"], "batch");
  EXPECT_EQ(file_of(classifier({-1, 3, 4}).bytes(), {"--batch=7"})["parameters"]["batch"], 7);
  const json::value file = file_of(classifier({6, 3, 4}).bytes());
  EXPECT_EQ(file["parameters"]["batch"], 6);
  EXPECT_EQ(file["layers"][0]["shape"]["m"], "batch");
  EXPECT_THAT(import(classifier({6, 3, 4}).bytes()).err, mentions("note", "6"));
}

TEST_F(ImportOnnx, AFixedBatchInSizesStaysANumber) {
  // 6 images are 2 groups of 3: of another batch the file says nothing.
  pb::model net;
  net.input("x", {6, 12}).numbers("to", {2, 3, 12}).weight("w", {12, 5});
  net.node("Reshape", {"x", "to"}, {"a"}).node("MatMul", {"a", "w"}, {"b"});
  const json::value file = file_of(net.output("b").bytes());
  EXPECT_FALSE(file.contains("parameters"));
  EXPECT_EQ(import(net.bytes(), {"--batch=2"}).exit_code, 2);
  EXPECT_EQ(file["layers"][0]["shape"]["m"], 6);
}

TEST_F(ImportOnnx, OtherNamedSizesAreBound) {
  pb::model net;
  const auto shape = pb::message()
                         .inner(1, pb::message().text(2, "batch"))
                         .inner(1, pb::message().text(2, "tokens"))
                         .inner(1, pb::message().number(1, 8));
  const auto type = pb::message().inner(1, pb::message().number(1, 1).inner(2, shape));
  net.raw(11, pb::message().text(1, "x").inner(2, type)).node("Relu", {"x"}, {"y"}).output("y");
  const testing::outcome done = import(net.bytes());
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, mentions("net.onnx", "x", "tokens", "--bind"));
  EXPECT_THAT(layers_of(net, {"--bind", "tokens=9"}),
              ElementsAre("activation {kind:relu,dims:[batch,9,8]}"));
}

TEST_F(ImportOnnx, SizesThatAreNoMultiplesOfTheBatchAreRefused) {
  pb::model net;
  net.input("x", {-1, 4}).weight("table", {50, 8}).number("zero", 0).number("one", 1);
  net.node("Shape", {"x"}, {"s"}).node("Gather", {"s", "zero"}, {"n"});
  net.node("Add", {"n", "one"}, {"more"}).node("Range", {"zero", "more", "one"}, {"all"});
  net.node("Gather", {"table", "all"}, {"y"}).output("y");
  const testing::outcome done = import(net.bytes());
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, mentions("batch"));
}

TEST_F(ImportOnnx, NamesAreThoseOfModules) {
  pb::model net = base();
  net.node("Relu", {"x"}, {"a"}, {}, "/layer1/layer1.0/act/Relu");
  net.node("Relu", {"a"}, {"b"}, {}, "/layer1/layer1.0/act_1/Relu");
  const auto scopes = pb::message().inner(9, pb::message()
                                                 .text(1, "pkg.torch.onnx.name_scopes")
                                                 .text(2, "['', 'top', 'top.act', 'relu']"));
  net.node("Relu", {"b"}, {"c"}, {}, "node_relu", scopes);
  net.node("Relu", {"c"}, {"y"}, {}, "Other-Name").output("y");
  const json::value file = file_of(net.bytes());
  strings names;
  for (const json::value& layer : file["layers"]) names.push_back(layer["name"]);
  EXPECT_THAT(names, ElementsAre("layer1_0_act", "layer1_0_act_1", "top_act", "other_name"));
}

TEST_F(ImportOnnx, FoldedBatchNormIsForInferenceOnly) {
  const auto folded = pb::message().inner(
      9,
      pb::message().text(1, "pkg.onnxscript.rewriter.rule_name").text(2, "FuseBatchNormIntoConv"));
  pb::model dynamo = base();
  dynamo.node("Conv", {"x", "w3x3", "c4"}, {"y"}, {}, "conv", folded).output("y");
  pb::model script = base();
  script.weight("onnx::Conv_12", {4, 6, 3, 3});
  script.node("Conv", {"x", "onnx::Conv_12", "c4"}, {"y"}).output("y");
  for (const pb::model& net : {dynamo, script}) {
    const testing::outcome done = import(net.bytes(20, "pytorch"));
    ASSERT_EQ(done.exit_code, 0) << done.err;
    EXPECT_EQ(show(done.out).exit_code, 0);
    const testing::outcome trained = show(done.out, {"--phase=training"});
    EXPECT_EQ(trained.exit_code, 2);
    EXPECT_THAT(trained.err, mentions("batch norm"));
  }
  EXPECT_FALSE(file_of(script.bytes(20, "another")).contains("inference_only"));
}

// What no op computes.

TEST_F(ImportOnnx, UnknownNodesAreListed) {
  pb::model net = base();
  net.weight("filters", {6, 6, 1, 1}).node("Conv", {"x", "filters"}, {"a"});
  net.node("Mish", {"a"}, {"b"}, {}, "act_7").node("Conv", {"b", "w3x3"}, {"d"});
  net.node("If", {"d"}, {"y"}, {pb::message().text(1, "then_branch").inner(6, pb::message())},
           "fork");
  net.node("Fancy", {"y"}, {"z"}, {}, "", pb::message().text(7, "com.example")).output("z");
  const std::string file = (directory_.path() / "mine.json").string();
  const testing::outcome done = import(net.bytes(), {"-o", file});
  EXPECT_EQ(done.exit_code, 4);
  EXPECT_THAT(done.err, mentions("Mish", "graph/node/1", "act_7", "If", "graph/node/3", "fork",
                                 "com.example.Fancy", "--allow-partial"));
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(import(net.bytes(), {"-o", file, "--allow-partial"}).exit_code, 0);
  const json::value partial = json::value::parse(json::read_text(file));
  EXPECT_THAT(partial["source"].get<std::string>(), mentions("incomplete", "Mish"));
  EXPECT_THAT(partial["layers"], SizeIs(2));
}

TEST_F(ImportOnnx, TheShareOfFlopsIsKnownOfProducts) {
  // A convolution in four dimensions, of as many FLOPs as the matrix product behind it.
  pb::model net;
  net.input("x", {-1, 1, 2, 2, 2, 1}).weight("w", {8, 1, 1, 1, 1, 1}).weight("v", {64, 1});
  net.node("Conv", {"x", "w"}, {"a"}).node("Flatten", {"a"}, {"b"});
  net.node("MatMul", {"b", "v"}, {"y"}).output("y");
  const testing::outcome done = import(net.bytes());
  EXPECT_EQ(done.exit_code, 4);
  EXPECT_THAT(done.err, mentions("Conv", "50.0"));
}

/// The field left_out of a partial file, which must load.
double left_out_of(const testing::outcome& done) {
  EXPECT_EQ(done.exit_code, 0) << done.err;
  return done.exit_code == 0 ? json::value::parse(done.out).value("left_out", -1.0) : -2.0;
}

TEST_F(ImportOnnx, WhatFollowsARefusedNodeIsLeftOutAndCounts) {
  // Of three equal convolutions one reads a sum with what no op computes.
  pb::model net;
  net.input("x", {-1, 6, 8, 8}).weight("w", {6, 6, 3, 3});
  const std::vector same{ints("pads", {1, 1, 1, 1})};
  net.node("Conv", {"x", "w"}, {"a"}, same).node("Conv", {"a", "w"}, {"b"}, same);
  net.node("Fancy", {"a"}, {"f"}, {}, "", pb::message().text(7, "com.example"));
  net.node("Conv", {"f", "w"}, {"c"}, same).node("Add", {"b", "c"}, {"y"}).output("y");
  const testing::outcome open = import(net.bytes(), {"--allow-partial"});
  EXPECT_THAT(open.err, mentions("at least"));  // the size of f is not known
  EXPECT_EQ(left_out_of(open), 0);
  const auto declared = pb::message().inner(
      1, pb::message().number(1, 1).inner(2, pb::message()
                                                 .inner(1, pb::message().text(2, "batch"))
                                                 .inner(1, pb::message().number(1, 6))
                                                 .inner(1, pb::message().number(1, 4))
                                                 .inner(1, pb::message().number(1, 4))));
  pb::model sized;
  sized.input("x", {-1, 6, 8, 8}).weight("w", {6, 6, 3, 3}).weight("v", {3, 6, 4, 4});
  sized.node("Conv", {"x", "w"}, {"a"}, same);
  sized.node("Fancy", {"a"}, {"f"}, {}, "", pb::message().text(7, "com.example"));
  sized.raw(13, pb::message().text(1, "f").inner(2, declared));
  sized.node("Conv", {"f", "w"}, {"y"}, same).output("y");
  const testing::outcome known = import(sized.bytes(), {"--allow-partial"});
  EXPECT_THAT(json::value::parse(known.out)["layers"], SizeIs(2)) << "both have their sizes";
  EXPECT_GE(left_out_of(known), 0);
}

TEST_F(ImportOnnx, ResizedImages) {
  const auto resized_by = [&](float height, float width, const char* mode) {
    pb::model net = base();
    net.raw(5, pb::tensor("by", {4}).real(4, 1).real(4, 1).real(4, height).real(4, width));
    net.node("Resize", {"x", "", "by"}, {"y"}, {s("mode", mode)}).output("y");
    return layers_of(net);
  };
  EXPECT_THAT(resized_by(2, 3, "nearest"),
              ElementsAre("resample {kind:nearest,n:batch,c:6,h:8,w:7,p:16,q:21}"));
  EXPECT_THAT(resized_by(1.5, 2, "linear"),
              ElementsAre("resample {kind:bilinear,n:batch,c:6,h:8,w:7,p:12,q:14}"));
}

TEST_F(ImportOnnx, ResizedImagesHaveSizes) {
  pb::model net;
  net.input("x", {-1, 6, 8, 8}).weight("w", {6, 6, 3, 3}).numbers("to", {1, 6, 16, 16});
  net.raw(5, pb::tensor("by", {4}).real(4, 1).real(4, 1).real(4, 2).real(4, 2));
  const std::vector same{ints("pads", {1, 1, 1, 1})};
  net.node("Conv", {"x", "w"}, {"a"}, same);
  net.node("Resize", {"a", "", "by"}, {"b"}, {s("mode", "cubic")});
  net.node("Conv", {"b", "w"}, {"y"}, same).output("y");
  const testing::outcome done = import(net.bytes(), {"--allow-partial"});
  EXPECT_EQ(left_out_of(done), 0);
  EXPECT_THAT(done.out, HasSubstr("\"h\": 16"));
}

TEST_F(ImportOnnx, RefusedNodesHaveTheirFlops) {
  // The matrix product has 2 * 5 * 8 * 16 FLOPs per image, and beside it ...
  const auto beside = [&](const auto& add_node) {
    pb::model net;
    net.input("x", {5, -1, 8}).weight("v", {8, 16});
    net.node("MatMul", {"x", "v"}, {"m"}).output("m");
    add_node(net);
    return import(net.bytes(), {"--allow-partial"});
  };
  // ... a GRU without biases has as many for its input, and twice as many for its state.
  const testing::outcome recurrent = beside([](pb::model& net) {
    net.weight("w", {1, 48, 8}).weight("r", {1, 48, 16});
    net.node("GRU", {"x", "w", "r"}, {"g"}, {i("hidden_size", 16)}).output("g");
  });
  EXPECT_NEAR(left_out_of(recurrent), 9.0 / 10, 1e-3);
  const testing::outcome integers = beside([](pb::model& net) {
    net.raw(5, pb::tensor("q", {8, 16}, 3));
    net.node("DynamicQuantizeLinear", {"x"}, {"xq", "s", "z"});
    net.node("MatMulInteger", {"xq", "q", "z"}, {"g"}).output("g");
  });
  EXPECT_NEAR(left_out_of(integers), 0.5, 1e-3);
  const auto product = [] {
    pb::model body;
    return body.node("MatMul", {"x", "v"}, {"inner"}).output("inner");
  };
  const testing::outcome branches = beside([&](pb::model& net) {
    net.input("c", {1}, 9)
        .node("If", {"c"}, {"g"},
              {pb::inside("then_branch", product()), pb::inside("else_branch", product())});
    net.output("g");
  });
  EXPECT_NEAR(left_out_of(branches), 0.5, 1e-3);
  const testing::outcome loop = beside([&](pb::model& net) {
    pb::model body;
    body.input("i", {}, 7).input("c", {}, 9).input("s", {5, -1, 8});
    body.node("MatMul", {"s", "v"}, {"inner"}).output("c").output("s").output("inner");
    net.number("three", 3)
        .node("Loop", {"three", "", "x"}, {"last", "g"}, {pb::inside("body", body)});
    net.output("g");
  });
  EXPECT_NEAR(left_out_of(loop), 0.75, 1e-3);
}

TEST_F(ImportOnnx, APartialFileSaysSo) {
  pb::model net = base();
  net.node("Conv", {"x", "w3x3"}, {"a"}).node("Mish", {"a"}, {"y"}).output("y");
  const testing::outcome done = import(net.bytes(), {"--allow-partial"});
  EXPECT_EQ(left_out_of(done), 0);
  const testing::outcome shown = show(done.out, {"--format=json"});
  EXPECT_EQ(json::value::parse(shown.out)["left_out"], 0);
  EXPECT_THAT(show(done.out).out, mentions("partial"));
  pb::model whole = base();
  whole.node("Conv", {"x", "w3x3"}, {"y"}).output("y");
  EXPECT_FALSE(file_of(whole.bytes()).contains("left_out"));
  EXPECT_TRUE(json::value::parse(show(import(whole.bytes()).out, {"--format=json"}).out)["left_out"]
                  .is_null());
}

// Branches.

TEST_F(ImportOnnx, TheBranchOfAConstantConditionIsTaken) {
  const auto net_of = [](const pb::message& condition) {
    pb::model then;
    then.weight("inner", {6, 6, 1, 1}).node("Conv", {"a", "inner"}, {"t"}).output("t");
    pb::model other;
    other.node("Tanh", {"a"}, {"e"}).output("e");
    pb::model net = base();
    net.raw(5, condition).node("Relu", {"x"}, {"a"});
    net.node("If", {"c"}, {"b"},
             {pb::inside("then_branch", then), pb::inside("else_branch", other)});
    return net.node("Sigmoid", {"b"}, {"y"}).output("y");
  };
  EXPECT_THAT(layers_of(net_of(pb::tensor("c", {}, 9).number(5, 1))),
              ElementsAre(HasSubstr("relu"), image("conv", "k:6,r:1,s:1"), HasSubstr("sigmoid")));
  EXPECT_THAT(layers_of(net_of(pb::tensor("c", {}, 9).number(5, 0))),
              ElementsAre(HasSubstr("relu"), HasSubstr("tanh"), HasSubstr("sigmoid")));
}

TEST_F(ImportOnnx, BranchesInBranchesAreTaken) {
  pb::model inner;
  inner.node("Tanh", {"a"}, {"i"}).output("i");
  pb::model outer;
  outer.node("If", {"c"}, {"o"},
             {pb::inside("then_branch", inner), pb::inside("else_branch", inner)});
  outer.output("o");
  pb::model net = base();
  net.raw(5, pb::tensor("c", {}, 9).number(5, 1)).node("Relu", {"x"}, {"a"});
  net.node("If", {"c"}, {"y"},
           {pb::inside("then_branch", outer), pb::inside("else_branch", outer)});
  EXPECT_THAT(layers_of(net.output("y")), ElementsAre(HasSubstr("relu"), HasSubstr("tanh")));
}

// Weights in several nodes.

TEST_F(ImportOnnx, WeightsThatAreComputedAreWeights) {
  const auto sum = [&](const std::string& op, const pb::names& inputs,
                       const std::vector<pb::message>& attributes) {
    pb::model net = base();
    net.numbers("to", {1, 4, 1, 1}).numbers("added", {0, 2, 3}).weight("b", {1, 4, 1, 1});
    net.node(op, inputs, {"bias"}, attributes);
    net.node("Conv", {"x", "w3x3"}, {"a"}).node("Add", {"a", "bias"}, {"y"}).output("y");
    return layers_of(net);
  };
  const auto expected = ElementsAre(image("conv", "k:4,r:3,s:3,bias:true"));
  EXPECT_THAT(sum("Reshape", {"c4", "to"}, {}), expected);
  EXPECT_THAT(sum("Unsqueeze", {"c4", "added"}, {}), expected);
  EXPECT_THAT(sum("Identity", {"b"}, {}), expected);
  EXPECT_THAT(sum("Add", {"b", "b"}, {}), expected);
  EXPECT_THAT(sum("Transpose", {"b"}, {ints("perm", {0, 1, 3, 2})}), expected);
  // A weight norm in separate nodes.
  pb::model net = base();
  net.weight("g", {4, 1, 1, 1}).numbers("axes", {1, 2, 3});
  net.node("ReduceL2", {"w3x3", "axes"}, {"n"}).node("Div", {"w3x3", "n"}, {"d"});
  net.node("Mul", {"g", "d"}, {"w"}).node("Conv", {"x", "w", "c4"}, {"y"}).output("y");
  EXPECT_THAT(layers_of(net), expected);
}

TEST_F(ImportOnnx, ABiasIsNoneWhereTheSumBeforeItIsReadToo) {
  pb::model net = base();
  net.weight("b", {1, 4, 1, 1}).node("Conv", {"x", "w3x3"}, {"a"});
  net.node("Add", {"a", "b"}, {"y"}).output("y").output("a");
  EXPECT_EQ(import(net.bytes()).exit_code, 4) << "the sum needs an op of its own";
  pb::model gemm;
  gemm.input("x", {-1, 12}).weight("w", {12, 5}).weight("b", {1, 5});
  gemm.node("Gemm", {"x", "w"}, {"a"}).node("Add", {"b", "a"}, {"y"}).output("y");
  EXPECT_THAT(layers_of(gemm), ElementsAre("gemm {m:batch,n:5,k:12,bias:true}"));
}

TEST_F(ImportOnnx, QuantizationIsTakenOff) {
  pb::model net = base();
  net.real("s", 0.1F).raw(5, pb::tensor("z", {}, 2).number(5, 0));
  net.raw(5, pb::tensor("q", {4, 6, 3, 3}, 3)).weight("sw", {4}).raw(5, pb::tensor("zw", {4}, 3));
  net.node("QuantizeLinear", {"x", "s", "z"}, {"xq"});
  net.node("DequantizeLinear", {"xq", "s", "z"}, {"xd"});
  net.node("DequantizeLinear", {"q", "sw", "zw"}, {"w"}, {i("axis", 0)});
  net.node("Conv", {"xd", "w", "c4"}, {"y"}).output("y");
  EXPECT_THAT(layers_of(net), ElementsAre(image("conv", "k:4,r:3,s:3,bias:true")));
  EXPECT_THAT(import(net.bytes()).err, mentions("int8_default"));
  pb::model fused = base();
  fused.real("s", 0.1F).raw(5, pb::tensor("z", {}, 2).number(5, 0));
  fused.raw(5, pb::tensor("q", {4, 6, 3, 3}, 3)).raw(5, pb::tensor("b", {4}, 6));
  fused.node("QuantizeLinear", {"x", "s", "z"}, {"xq"});
  fused.node("QLinearConv", {"xq", "s", "z", "q", "s", "z", "s", "z", "b"}, {"yq"});
  fused.node("DequantizeLinear", {"yq", "s", "z"}, {"y"}).output("y");
  EXPECT_THAT(layers_of(fused), ElementsAre(image("conv", "k:4,r:3,s:3,bias:true")));
}

TEST_F(ImportOnnx, PartsWithoutElementsAreNone) {
  pb::model net;
  net.input("x", {-1, 10}).numbers("parts", {10, 0}).node("Relu", {"x"}, {"r"});
  net.node("Split", {"r", "parts"}, {"a", "b"}, {i("axis", 1)}).node("Sigmoid", {"a"}, {"s"});
  net.node("Concat", {"s", "b"}, {"y"}, {i("axis", 1)}).output("y");
  EXPECT_THAT(layers_of(net), ElementsAre(HasSubstr("relu"), HasSubstr("sigmoid")));
}

TEST_F(ImportOnnx, WhatNoOpHasIsRefusedBeforeItIsWritten) {
  // ONNX allows an output_padding below the dilation.
  pb::model net = base();
  net.node("ConvTranspose", {"x", "w_up"}, {"y"},
           {ints("dilations", {3, 3}), ints("output_padding", {2, 2})});
  const testing::outcome done = import(net.output("y").bytes());
  EXPECT_EQ(done.exit_code, 4) << done.err;
  EXPECT_THAT(done.err, mentions("output_padding"));
}

// Sequences: convolutions of one axis, and what stands beside them.

struct sequence_node {
  std::string op;
  pb::names inputs;  ///< "s" is the sequence
  std::vector<pb::message> attributes;
  std::string layers;  ///< that it becomes, between two convolutions
};

/// A sequence of 6 channels and 12 positions.
pb::model sequence() {
  pb::model net;
  net.input("x", {-1, 6, 12}).weight("w", {6, 6, 3}).weight("c6", {6}).weight("row", {12});
  net.numbers("pads", {0, 0, 2, 0, 0, 1}).numbers("begin", {1}).numbers("end", {11});
  net.numbers("over", {2}).weight("scale", {6, 1}).weight("square", {12, 12});
  net.numbers("flat", {0, -1}).numbers("deep", {0, 6, 12});
  return net;
}

TEST_F(ImportOnnx, SequencesBesideConvolutions) {
  const std::vector same{ints("pads", {1, 1})};
  const std::vector<sequence_node> nodes{
      {"Relu", {"s"}, {}, "activation"},
      {"Dropout", {"s"}, {}, "dropout"},
      {"Softmax", {"s"}, {i("axis", 1)}, "softmax"},
      {"Softmax", {"s"}, {i("axis", 2)}, "softmax"},
      {"BatchNormalization", {"s", "c6", "c6", "c6", "c6"}, {}, "batchnorm"},
      {"LayerNormalization", {"s", "row"}, {i("axis", -1)}, "layernorm"},
      {"Concat", {"s", "s"}, {i("axis", 2)}, "concat"},
      {"Pad", {"s", "pads"}, {}, "pad"},
      {"Slice", {"s", "begin", "end", "over"}, {}, "slice"},
      {"Add", {"s", "s"}, {}, "add"},
      {"Mul", {"s", "s"}, {}, "multiply"},
      {"Mul", {"s", "scale"}, {}, "multiply"},
      {"MaxPool", {"s"}, {ints("kernel_shape", {3}), ints("pads", {1, 1})}, "pool"},
      {"Identity", {"s"}, {}, ""}};
  for (const sequence_node& node : nodes) {
    for (const bool before : {false, true}) {    // a convolution stands before it
      for (const bool behind : {false, true}) {  // and one behind
        pb::model net = sequence();
        pb::names inputs = node.inputs;
        std::ranges::replace(inputs, std::string("s"), std::string(before ? "a" : "x"));
        const bool two_inputs = !before && std::ranges::count(inputs, "x") > 1;
        if (two_inputs) continue;  // an edge cannot name the input beside another
        if (node.layers.empty() && !before && !behind) continue;  // no layer at all
        if (before) net.node("Conv", {"x", "w", "c6"}, {"a"}, same);
        net.node(node.op, inputs, {"b"}, node.attributes);
        if (behind) net.node("Conv", {"b", "w"}, {"y"}, same);
        const json::value file = file_of(net.output(behind ? "y" : "b").bytes(), {"--no-softmax"});
        std::string ops;
        for (const json::value& layer : file["layers"]) {
          const std::string op = layer["op"];
          if (op != "conv") ops += (ops.empty() ? "" : " ") + op;
        }
        EXPECT_EQ(ops, node.layers) << node.op << before << behind;
      }
    }
  }
}

TEST_F(ImportOnnx, SequencesAreCopiedForProducts) {
  const std::vector same{ints("pads", {1, 1})};
  pb::model net = sequence();
  net.node("Conv", {"x", "w"}, {"a"}, same).node("MatMul", {"a", "square"}, {"b"});
  net.node("Conv", {"b", "w"}, {"y"}, same).output("y");
  EXPECT_THAT(layers_of(net), ElementsAre(StartsWith("conv"), StartsWith("transpose"),
                                          "gemm {m:[batch,6],n:12,k:12}", StartsWith("transpose"),
                                          StartsWith("conv")));
  EXPECT_THAT(import(net.bytes()).err, mentions("note", "copied"));
}

TEST_F(ImportOnnx, SequencesAreOfFourAxesBetweenConvolutions) {
  const std::vector same{ints("pads", {1, 1})};
  pb::model causal = sequence();
  causal.node("Pad", {"x", "pads"}, {"p"}).node("Conv", {"p", "w"}, {"a"});
  causal.node("Pad", {"a", "pads"}, {"q"}).node("Conv", {"q", "w"}, {"y"}).output("y");
  EXPECT_THAT(layers_of(causal),
              ElementsAre("pad {dims:[batch,6,1,12],before:[0,0,0,2],after:[0,0,0,1]}",
                          StartsWith("conv {n:batch,c:6,h:1,w:15"),
                          "pad {dims:[batch,6,1,13],before:[0,0,0,2],after:[0,0,0,1]}",
                          StartsWith("conv")));
  pb::model joined = sequence();
  joined.weight("v", {6, 12, 1}).node("Conv", {"x", "w"}, {"a"}, same);
  joined.node("Conv", {"x", "w"}, {"b"}, same).node("Concat", {"a", "b"}, {"c"}, {i("axis", 1)});
  joined.node("Conv", {"c", "v"}, {"y"}).output("y");
  EXPECT_THAT(layers_of(joined),
              ElementsAre(StartsWith("conv"), StartsWith("conv"),
                          "concat {dims:[batch,12,1,12],sizes:[6,6]}", StartsWith("conv")));
}

TEST_F(ImportOnnx, SequencesTurnForRecurrentLayers) {
  const std::vector same{ints("pads", {1, 1})};
  pb::model net = sequence();
  net.weight("rw", {1, 12, 6}).weight("rr", {1, 12, 3}).weight("rb", {1, 24}).numbers("one", {1});
  net.node("Conv", {"x", "w"}, {"a"}, same)
      .node("Transpose", {"a"}, {"t"}, {ints("perm", {2, 0, 1})});
  net.node("LSTM", {"t", "rw", "rr", "rb"}, {"l"}, {i("hidden_size", 3)});
  net.node("Squeeze", {"l", "one"}, {"s"})
      .node("Transpose", {"s"}, {"u"}, {ints("perm", {1, 2, 0})});
  net.weight("v", {4, 3, 1}).node("Conv", {"u", "v"}, {"y"}).output("y");
  EXPECT_THAT(layers_of(net),
              ElementsAre(StartsWith("conv"), StartsWith("transpose {dims:[batch,6,1,12]"),
                          StartsWith("rnn"), HasSubstr("reshape:[batch,3,1,12]"),
                          StartsWith("conv {n:batch,c:3,h:1,w:12")));
  pb::model flat = sequence();
  flat.weight("f", {72, 5}).node("Conv", {"x", "w"}, {"a"}, same);
  flat.node("Flatten", {"a"}, {"b"}).node("MatMul", {"b", "f"}, {"y"}).output("y");
  EXPECT_THAT(layers_of(flat), ElementsAre(StartsWith("conv"), "gemm {m:batch,n:5,k:72}"));
}

// Command lines and files.

TEST_F(ImportOnnx, InputsGetExtents) {
  const auto open = [](const pb::message& batch, const pb::message& side) {
    const auto shape = pb::message()
                           .inner(1, batch)
                           .inner(1, pb::message().number(1, 6))
                           .inner(1, side)
                           .inner(1, side);
    const auto type = pb::message().inner(1, pb::message().number(1, 1).inner(2, shape));
    pb::model net;
    net.raw(11, pb::message().text(1, "x").inner(2, type)).weight("w", {4, 6, 3, 3});
    return net.node("Conv", {"x", "w"}, {"y"}).output("y").bytes();
  };
  const auto named = [](const std::string& name) { return pb::message().text(2, name); };
  for (const std::string& bytes :
       {open({}, {}), open(named("N"), named("?")),
        open(pb::message().number(1, -1), pb::message().number(1, -1))}) {
    const testing::outcome without = import(bytes);
    EXPECT_EQ(without.exit_code, 3);
    EXPECT_THAT(without.err, mentions("--input", "x"));
    for (const std::string given : {"--input=x=2x6x48x192", "--input=2x6x48x192"}) {
      const json::value file = file_of(bytes, {given});
      EXPECT_EQ(file["layers"][0]["shape"]["h"], 48);
      EXPECT_EQ(file["layers"][0]["shape"]["w"], 192);
      EXPECT_EQ(file["layers"][0]["shape"]["n"], "batch");
      EXPECT_EQ(file["parameters"]["batch"], 2);
    }
    for (const std::string wrong : {"x=2x6x48", "x=2x7x48x192", "z=2x6x48x192", "x=", "x=2x6x0x9",
                                    "=2x6x48x192", "x=2x6x48x-1"}) {
      EXPECT_EQ(import(bytes, {"--input=" + wrong}).exit_code, 2) << wrong;
    }
  }
  // Axes of one name are equal.
  const std::string square = open(named("batch"), named("side"));
  EXPECT_EQ(file_of(square, {"--input=x=9x6x8x8"})["layers"][0]["shape"]["w"], 8);
  EXPECT_EQ(import(square, {"--input=x=1x6x8x9"}).exit_code, 2);
}

TEST_F(ImportOnnx, ModelsAreReadWithoutAShapeFile) {
  const auto shown = [&](const pb::model& net) {
    const std::string file = directory_.write("some_net.onnx", net.bytes()).string();
    return testing::run(LAYERBENCH_TOOL, {"show", file, "--format=json"});
  };
  pb::model net = base();
  net.node("Conv", {"x", "w3x3"}, {"y"}).output("y");
  const testing::outcome done = shown(net);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(json::value::parse(done.out)["model"], "some_net");
  pb::model refused = base();
  refused.node("Conv", {"x", "w3x3"}, {"a"}).node("Mish", {"a"}, {"y"}).output("y");
  EXPECT_EQ(shown(refused).exit_code, 4);
  const std::string text = directory_.write("text.onnx", "no model").string();
  EXPECT_EQ(testing::run(LAYERBENCH_TOOL, {"show", text}).exit_code, 3);
}

TEST_F(ImportOnnx, CommandLines) {
  const std::string file = directory_.write("net.onnx", classifier({-1, 12}).bytes()).string();
  const auto code = [](const strings& arguments) {
    return testing::run(LAYERBENCH_TOOL, arguments).exit_code;
  };
  EXPECT_EQ(code({"import", "onnx", file, "--name=mine"}), 0);
  for (const strings& wrong :
       std::vector<strings>{{"import"},
                            {"import", "onnx"},
                            {"import", "caffe", file},
                            {"import", "onnx", file, "--name=Mine"},
                            {"import", "onnx", file, "--batch=0"},
                            {"import", "onnx", file, "--bind=x"},
                            {"import", "onnx", file, "--bind=x=0"},
                            {"import", "onnx", file, "--bind=tokens=9"},
                            {"import", "onnx", file, "-o", "/none/mine.json"}}) {
    EXPECT_EQ(code(wrong), 2) << fmt::format("{}", fmt::join(wrong, " "));
  }
  EXPECT_EQ(code({"import", "onnx", (directory_.path() / "none.onnx").string()}), 3);
  EXPECT_EQ(code({"import", "onnx", directory_.path().string()}), 3);
}

TEST_F(ImportOnnx, AnOldFileRemainsIfTheNewOneFails) {
  const std::string file = directory_.write("mine.json", "old").string();
  EXPECT_NE(import(base().node("Mish", {"x"}, {"y"}).output("y").bytes(), {"-o", file}).exit_code,
            0);
  EXPECT_EQ(json::read_text(file), "old");
  EXPECT_EQ(import(classifier({-1, 12}).bytes(), {"-o", file}).exit_code, 0);
  EXPECT_EQ(json::read_text(file), import(classifier({-1, 12}).bytes()).out);
}

// Hostile files.

struct bad_model {
  std::string name;
  std::string bytes;
  strings words;
};
void PrintTo(const bad_model& of, std::ostream* out) { *out << of.name; }

class BadOnnx : public ::testing::TestWithParam<bad_model> {};

TEST_P(BadOnnx, IsRefusedWithItsPlace) {
  const testing::temporary_directory directory;
  const std::string file = directory.write("bad.onnx", GetParam().bytes).string();
  const testing::outcome done = testing::run(LAYERBENCH_TOOL, {"import", "onnx", file});
  EXPECT_EQ(done.exit_code, 3) << done.err;
  EXPECT_THAT(done.err, HasSubstr(file));
  for (const std::string& word : GetParam().words) EXPECT_THAT(done.err, HasSubstr(word));
  EXPECT_TRUE(
      std::ranges::all_of(done.err, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
}

pb::model start() { return pb::model().input("x", {-1, 4, 4, 4}).weight("w", {4, 4, 3, 3}); }

std::string nodes(std::size_t count) {
  pb::model net = start();
  for (std::size_t at = 0; at < count; ++at) net.node("Relu", {"x"}, {std::to_string(at)});
  return net.output("0").bytes();
}

/// A message in a message, as deep as that.
pb::message nested(int depth) {
  pb::message result;
  for (int at = 0; at < depth; ++at)
    result = pb::message().inner(4, pb::message().inner(1, result));
  return result;
}

INSTANTIATE_TEST_SUITE_P(
    Files, BadOnnx,
    ::testing::Values(
        bad_model{"Empty", "", {}}, bad_model{"Text", "{\"name\": \"net\"}\n", {}},
        bad_model{"Zeros", std::string(1000, '\0'), {}},
        bad_model{"NoGraph", pb::message().number(1, 8).bytes(), {"graph"}},
        bad_model{"NoOutput", start().bytes(), {"output"}},
        bad_model{"UnknownOutput", start().output("y").bytes(), {"graph/output", "'y'"}},
        bad_model{"Cycle",
                  start()
                      .node("Add", {"x", "b"}, {"a"}, {}, "first")
                      .node("Relu", {"a"}, {"b"})
                      .output("b")
                      .bytes(),
                  {"graph/node/0 'first'", "'b'"}},
        bad_model{"WrittenTwice",
                  start().node("Relu", {"x"}, {"a"}).node("Relu", {"x"}, {"a"}).output("a").bytes(),
                  {"graph/node/1 'Relu'", "'a'"}},
        bad_model{"HugeExtents",
                  start().weight("big", {std::int64_t{1} << 40}).output("x").bytes(),
                  {"'big'"}},
        bad_model{"HugeProduct",
                  start().weight("big", {1 << 30, 1 << 30, 1 << 30}).output("x").bytes(),
                  {"'big'"}},
        bad_model{"NegativeExtent", start().weight("big", {-3}).output("x").bytes(), {"'big'"}},
        bad_model{"HugeInput",
                  pb::model()
                      .input("x", {-1, 2147483647, 2147483647, 2147483647})
                      .node("Flatten", {"x"}, {"y"})
                      .output("y")
                      .bytes(),
                  {"graph/node/0"}},
        bad_model{"HugeLayer",
                  pb::model()
                      .input("x", {5, -1, 2147483647})
                      .weight("w", {1, 4, 1})
                      .weight("r", {1, 4, 2147483647})
                      .weight("b", {1, 8})
                      .node("LSTM", {"x", "w", "r", "b"}, {"y"})
                      .output("y")
                      .bytes(),
                  {"graph"}},
        bad_model{"HugeSize",
                  pb::model()
                      .input("x", {-1, 2147483647, 2})
                      .node("Flatten", {"x"}, {"a"})
                      .node("Relu", {"a"}, {"y"})
                      .output("y")
                      .bytes(),
                  {"graph"}},
        bad_model{"EndlessRange",
                  start()
                      .real("a", 0)
                      .real("b", std::numeric_limits<float>::infinity())
                      .real("c", 1)
                      .node("Range", {"a", "b", "c"}, {"y"}, {}, "r")
                      .output("y")
                      .bytes(),
                  {"graph/node/0 'r'"}},
        bad_model{"Many", nodes(1'000'000), {"50000"}},
        bad_model{"NoExtents",
                  pb::model()
                      .raw(11, pb::message().text(1, "x"))
                      .node("Relu", {"x"}, {"y"})
                      .output("y")
                      .bytes(),
                  {"'x'"}},
        bad_model{"ControlCharacters",
                  start()
                      .node("Conv", {"x", "w"}, {"\x1b[31my\n"}, {ints("strides", {0, 0})},
                            "\x1b]0;title\x07")
                      .output("\x1b[31my\n")
                      .bytes(),
                  {"graph/node/0", "strides"}},
        bad_model{"WrongFilters",
                  start()
                      .weight("v", {4, 3, 3, 3})
                      .node("Conv", {"x", "v"}, {"y"}, {}, "c")
                      .output("y")
                      .bytes(),
                  {"graph/node/0 'c'"}},
        bad_model{"WrongReshape",
                  start()
                      .numbers("to", {7, 7})
                      .node("Reshape", {"x", "to"}, {"y"}, {}, "r")
                      .output("y")
                      .bytes(),
                  {"graph/node/0 'r'"}},
        bad_model{"WrongAxis",
                  start().node("Softmax", {"x"}, {"y"}, {i("axis", 9)}, "s").output("y").bytes(),
                  {"graph/node/0 's'"}},
        bad_model{"WrongPermutation",
                  start()
                      .node("Transpose", {"x"}, {"y"}, {ints("perm", {0, 0, 1, 2})}, "t")
                      .output("y")
                      .bytes(),
                  {"graph/node/0 't'"}},
        bad_model{
            "OnlyViews", start().node("Flatten", {"x"}, {"y"}).output("y").bytes(), {"layer"}},
        bad_model{
            "NodeOfAnotherType", pb::message().inner(7, pb::message().number(1, 5)).bytes(), {}},
        bad_model{"SparseWeights",
                  start().raw(15, pb::message()).output("x").bytes(),
                  {"sparse_initializer"}}),
    [](const auto& of) { return of.param.name; });

TEST_F(ImportOnnx, TruncatedFilesAreRefused) {
  const std::string whole =
      base().node("Conv", {"x", "w3x3", "c4"}, {"y"}, {i("group", 1)}, "conv").output("y").bytes();
  ASSERT_EQ(import(whole).exit_code, 0);
  for (std::size_t size = 0; size < whole.size(); size += 3) {
    const testing::outcome done = import(whole.substr(0, size));
    EXPECT_EQ(done.exit_code, 3) << size << ": " << done.err;
  }
}

TEST_F(ImportOnnx, WeightsAreNotRead) {
  // Elements elsewhere, in a file that is absent, and elements that do not fit the extents.
  pb::model net = base();
  net.raw(5, pb::tensor("far", {4, 6, 1, 1})
                 .inner(13, pb::message().text(1, "location").text(2, "/absent/weights"))
                 .number(14, 1));
  net.raw(5, pb::tensor("large", {4, 4, 1, 1}).text(9, std::string(1 << 20, 'w')));
  net.node("Conv", {"x", "far"}, {"a"}).node("Conv", {"a", "large"}, {"y"}).output("y");
  EXPECT_THAT(layers_of(net), SizeIs(2));
}

TEST_F(ImportOnnx, DeepMessagesAreSkipped) {
  pb::model net = base();
  net.node("Relu", {"x"}, {"y"}).output("y");
  net.raw(13, pb::message().text(1, "v").inner(2, nested(1000)));
  EXPECT_THAT(layers_of(net), SizeIs(1));
}

#endif

}  // namespace tools_import_onnx_test
}  // namespace layerbench
