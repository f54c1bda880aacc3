// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string>

#include <gmock/gmock.h>

#include <layerbench/op/list.hpp>
#include <layerbench/shape/layout.hpp>
#include <layerbench/shape/record_json.hpp>
#include <layerbench/shape/record_key.hpp>

#include "support/random_ops.hpp"

namespace layerbench {
namespace shape_record_test {

using testing::dice;
using testing::random_op;

template <class Record>
Record read(const std::string& text, const json::parameters& named = {}) {
  const json::value parsed = json::value::parse(text);
  return json::read_record<Record>(json::cursor(parsed, "test.json"), named);
}

const op::conv small{.n = 1, .c = 2, .h = 8, .w = 9, .k = 4, .r = 3, .s = 3};
const std::string small_key = "n:1,c:2,h:8,w:9,k:4,r:3,s:3";

op::conv changed(const std::function<void(op::conv&)>& change) {
  op::conv copy = small;
  change(copy);
  return copy;
}

TEST(key, leaves_out_defaults) { EXPECT_EQ(key(small), small_key); }

TEST(key, writes_pairs_and_pads_as_shortly_as_they_allow) {
  const std::vector<std::pair<op::conv, std::string>> table{
      {changed([](auto& o) { o.stride = {2, 2}; }), ",stride:2"},
      {changed([](auto& o) { o.stride = {2, 1}; }), ",stride:2x1"},
      {changed([](auto& o) { o.pad = {3, 3, 3, 3}; }), ",pad:3"},
      {changed([](auto& o) { o.pad = {3, 3, 1, 1}; }), ",pad:3x1"},
      {changed([](auto& o) { o.pad = {3, 0, 1, 2}; }), ",pad:3x0x1x2"},
      {changed([](auto& o) { o.pad = {1, 1, 1, 2}; }), ",pad:1x1x1x2"},
      {changed([](auto& o) { o.dilation = {1, 2}; }), ",dilation:1x2"},
      {changed([](auto& o) { o.groups = 2; }), ",groups:2"},
      {changed([](auto& o) { o.bias = true; }), ",bias:1"}};
  for (const auto& [record, suffix] : table) EXPECT_EQ(key(record), small_key + suffix);
}

TEST(key, writes_enums_texts_numbers_and_dims) {
  EXPECT_EQ(key(op::activation{op::activation_kind::gelu, {2, 3, 5}}), "kind:gelu,dims:2x3x5");
  EXPECT_EQ(key(op::reorder{{1, 16}, "ab", "ba"}), "dims:1x16,from:ab,to:ba");
  EXPECT_EQ(key(op::batchnorm{1, 2, 3, 4, 1e-5}), "n:1,c:2,h:3,w:4");
  EXPECT_EQ(key(op::batchnorm{1, 2, 3, 4, 0.001}), "n:1,c:2,h:3,w:4,epsilon:0.001");
}

TEST(key, that_no_record_has_is_not_read) {
  const auto is_read = [](const std::string& text) {
    return read_key(text, fields_of(op::conv{})).has_value();
  };
  EXPECT_TRUE(is_read(small_key + ",stride:2x1,pad:1x1x1x2,bias:1,post:relu+add"));
  for (const std::string wrong :
       {",", ",bias", ",bias:", ",bias:2", ",groups:x", ",groups:0", ",pad:-1", ",groups:1x1",
        ",stride:1x2x3", ",stride:", ",pad:1x2x3", ",post:", ",post:relu+none", ",color:1", " "}) {
    EXPECT_FALSE(is_read(small_key + wrong)) << wrong;
  }
  EXPECT_FALSE(is_read("")) << "lacks required fields";
  EXPECT_FALSE(is_read("n:1,c:2,h:8,w:9,k:4,r:3")) << "lacks s";
}

TEST(key, tells_records_apart_and_only_those) {
  dice d(11);
  std::map<std::string, op::conv> seen;
  for (int i = 0; i < 5000; ++i) {
    op::conv o = random_op<op::conv>(d);
    o.h = o.w = 8;  // few free fields, so that equal records do turn up
    o.n = o.c = o.k = o.groups = 1;
    const auto [at, is_new] = seen.emplace(key(o), o);
    ASSERT_EQ(json::write_record(at->second), json::write_record(o)) << at->first;
    ASSERT_TRUE(at->second.stride == o.stride && at->second.pad == o.pad &&
                at->second.dilation == o.dilation && at->second.bias == o.bias &&
                at->second.r == o.r && at->second.s == o.s)
        << at->first;
  }
  EXPECT_LT(seen.size(), 5000U);
  EXPECT_GT(seen.size(), 1000U);
}

template <class Op>
class every_op : public ::testing::Test {};

template <class... Ops>
::testing::Types<Ops...> types_of(op::list<Ops...>);
using all_ops = decltype(types_of(op::builtin{}));
TYPED_TEST_SUITE(every_op, all_ops);

TYPED_TEST(every_op, survives_writing_and_reading) {
  dice d(12);
  for (int i = 0; i < 200; ++i) {
    const auto original = random_op<TypeParam>(d);
    const std::string text = json::write_record(original).dump();
    const auto copy = read<TypeParam>(text);
    ASSERT_EQ(key(copy), key(original)) << text;
    ASSERT_EQ(json::write_record(copy).dump(), text);
  }
}

TYPED_TEST(every_op, is_found_again_by_its_key) {
  dice d(13);
  for (int i = 0; i < 200; ++i) {
    const auto original = random_op<TypeParam>(d);
    const auto fields = read_key(key(original), fields_of(TypeParam{}));
    ASSERT_TRUE(fields) << key(original);
    ASSERT_EQ(json::write_record(record_of<TypeParam>(*fields)), json::write_record(original))
        << key(original);
  }
}

TYPED_TEST(every_op, has_a_schema_that_lists_its_fields_in_order) {
  const json::value schema = json::fields_schema(fields_of(TypeParam{}));
  EXPECT_EQ(schema["type"], "object");
  EXPECT_EQ(schema["additionalProperties"], false);
  std::vector<std::string> fields;
  std::vector<std::string> needed;
  for_each_field<TypeParam>([&](const auto& f) {
    fields.emplace_back(f.name);
    if (f.required) needed.emplace_back(f.name);
    const bool has_default = schema["properties"][fields.back()].contains("default");
    EXPECT_FALSE(f.required && has_default);
    EXPECT_TRUE(f.required || has_default || f.help.ends_with(']')) << "names another field";
    EXPECT_EQ(schema["properties"][fields.back()]["description"], f.help);
  });
  std::vector<std::string> listed;
  for (const auto& item : schema["properties"].items()) listed.push_back(item.key());
  EXPECT_EQ(listed, fields);
  EXPECT_EQ(schema["required"].template get<std::vector<std::string>>(), needed);
}

TYPED_TEST(every_op, refuses_an_unknown_and_a_missing_field) {
  dice d(13);
  json::value shape = json::write_record(random_op<TypeParam>(d));
  shape["colour"] = 1;
  EXPECT_THROW(static_cast<void>(read<TypeParam>(shape.dump())), bad_input);
  EXPECT_THROW(static_cast<void>(read<TypeParam>("{}")), bad_input);
}

TEST(read_record, takes_pads_in_three_forms) {
  const auto pad = [](const std::string& form) {
    return read<op::conv>(R"({"n":1,"c":1,"h":9,"w":9,"k":1,"r":5,"s":5,"pad":)" + form + "}").pad;
  };
  EXPECT_EQ(pad("2"), (pads{2, 2, 2, 2}));
  EXPECT_EQ(pad("[2, 0]"), (pads{2, 2, 0, 0}));
  EXPECT_EQ(pad("[1, 2, 3, 4]"), (pads{1, 2, 3, 4}));
  EXPECT_EQ(pad("0"), (pads{0, 0, 0, 0}));
}

TEST(read_record, takes_positions_from_0_on) {
  const auto slice = [](const std::string& begin) {
    return read<op::slice>(R"({"dims":[2,3],"axis":0,"size":1,"begin":)" + begin + "}");
  };
  EXPECT_EQ(slice("0").begin, position{0});
  EXPECT_EQ(slice("1").begin, position{1});
  EXPECT_EQ(slice("1").axis, position{0});
  EXPECT_THROW(static_cast<void>(slice("-1")), bad_input);
}

TEST(read_record, takes_sizes_as_numbers_names_and_products) {
  const auto read_dims = [](const std::string& form) {
    return read<op::add>(R"({"dims":)" + form + "}", {{"batch", 7}}).dims;
  };
  EXPECT_EQ(read_dims(R"([64.0, 3])"), (dims{64, 3}));
  EXPECT_EQ(read_dims(R"(["batch", [2, 3], ["batch", [5, 2]]])"), (dims{7, 6, 70}));
  EXPECT_EQ(read_dims("[2147483647]"), (dims{2147483647}));
}

TEST(from_name, finds_every_value_by_its_name_and_no_other) {
  for (const layout item : {layout::nhwc, layout::nchw, layout::any}) {
    EXPECT_EQ(from_name<layout>(name(item)), item);
  }
  EXPECT_EQ(from_name<op::activation_kind>("hardswish"), op::activation_kind::hardswish);
  EXPECT_EQ(name(op::pass::fwd), "fwd");
  for (const std::string_view text : {"", "nhw", "nhwcc", "NHWC"}) {
    EXPECT_EQ(from_name<layout>(text), std::nullopt) << text;
  }
}

TEST(fields_schema, says_what_each_kind_of_field_may_be) {
  const json::value conv = json::fields_schema(fields_of(op::conv{}))["properties"];
  EXPECT_EQ(conv["n"]["$ref"], "#/$defs/size");
  EXPECT_EQ(conv["stride"]["$ref"], "#/$defs/pair");
  EXPECT_EQ(conv["stride"]["default"], 1);
  EXPECT_EQ(conv["pad"]["$ref"], "#/$defs/pads");
  EXPECT_EQ(conv["pad"]["default"], 0);
  EXPECT_EQ(conv["bias"]["type"], "boolean");
  const json::value begin = json::fields_schema(fields_of(op::slice{}))["properties"]["begin"];
  EXPECT_EQ(begin["$ref"], "#/$defs/padding");
  EXPECT_EQ(begin["default"], 0);
  EXPECT_FALSE(json::fields_schema(fields_of(op::attention{}))["properties"]["kv_heads"].contains(
      "default"));
  EXPECT_FALSE(
      json::fields_schema(fields_of(op::multiply{}))["properties"]["dims1"].contains("default"));
  const json::value kind = json::fields_schema(fields_of(op::pool{}))["properties"]["kind"];
  EXPECT_THAT(kind["enum"].get<std::vector<std::string>>(),
              ::testing::ElementsAre("max", "average"));
}

}  // namespace shape_record_test
}  // namespace layerbench
