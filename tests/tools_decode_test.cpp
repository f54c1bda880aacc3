// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "support/decoding.hpp"
#include "support/mentions.hpp"
#include "support/program.hpp"
#include "support/temporary_directory.hpp"
#include "support/transformer.hpp"

/// Prompts and decode steps in the tool.
namespace layerbench {
namespace tools_decode_test {

using testing::mentions;
using ::testing::SizeIs;

testing::outcome tool(const std::vector<std::string>& arguments) {
  return testing::run(LAYERBENCH_TOOL, arguments);
}

class Decode : public ::testing::Test {
 protected:
  static constexpr double prompt_call = 0.01;
  static constexpr double decode_call = 0.001;

  testing::temporary_directory scratch_;
  std::string model_ = scratch_.write("decoder.json", testing::decoder_block).string();
  std::string both_ =
      write({{4, 0, {}, prompt_call}, {1, 7, {{"tokens", "1"}, {"context", "7"}}, decode_call}});

  [[nodiscard]] std::string write(const std::vector<testing::timed_case>& cases) const {
    return scratch_.write("r.json", testing::decoding_results(model_, cases)).string();
  }
  [[nodiscard]] testing::outcome predict(std::vector<std::string> more) const {
    more.insert(more.begin(), {"predict", both_, "--model", model_});
    return tool(more);
  }
  [[nodiscard]] json::value predicted(std::vector<std::string> more) const {
    more.insert(more.end(), {"--format", "json"});
    const testing::outcome done = predict(more);
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return json::value::parse(done.out);
  }
};

TEST_F(Decode, IsShownWithItsTokensAndCache) {
  const testing::outcome done =
      tool({"show", model_, "--tokens", "1", "--context", "7", "--batch", "1", "--format", "json"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const json::value shown = json::value::parse(done.out);
  EXPECT_EQ(shown.at("tokens"), 1);
  EXPECT_EQ(shown.at("context"), 7);
  std::size_t attentions = 0;
  for (const json::value& layer : shown.at("layers")) {
    if (layer.at("name") != "attention") continue;
    ++attentions;
    EXPECT_EQ(layer.at("after"), json::value({"query_rotary", "key_cache", "value_cache"}));
    EXPECT_EQ(layer.at("shape").at("k"), 8);
  }
  EXPECT_EQ(attentions, 1U);
  EXPECT_EQ(tool({"show", "alexnet", "--tokens", "1"}).exit_code, 2);
  EXPECT_EQ(tool({"show", model_, "--tokens", "0"}).exit_code, 2);
}

TEST_F(Decode, IsPredictedInTokens) {
  const json::value all = predicted({});
  ASSERT_THAT(all.at("predictions"), SizeIs(2));
  const json::value& prompt = all.at("predictions").at(0);
  const json::value& decode = all.at("predictions").at(1);
  EXPECT_EQ(prompt.at("tokens"), 4);
  EXPECT_EQ(prompt.at("context"), 0);
  EXPECT_EQ(decode.at("tokens"), 1);
  EXPECT_EQ(decode.at("context"), 7);
  for (const json::value& one : all.at("predictions")) {
    EXPECT_FALSE(one.at("derived"));
    const double seconds = one.at("seconds_per_step");
    const double tokens = one.at("tokens");
    EXPECT_DOUBLE_EQ(one.at("tokens_per_second"), 2 * tokens / seconds);
  }
  EXPECT_DOUBLE_EQ(prompt.at("seconds_per_step"), 10 * prompt_call);
  EXPECT_DOUBLE_EQ(decode.at("seconds_per_step"), 12 * decode_call);
  EXPECT_THAT(predict({}).out, mentions("tokens/s", "context"));
}

TEST_F(Decode, HasNoTokensWhereTheModelIsUnknown) {
  const testing::outcome done = tool({"predict", both_, "--format", "json"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_TRUE(json::value::parse(done.out).at("predictions").at(0).at("tokens").is_null());
  // A file of other sizes is not the measured model.
  std::string other = testing::decoder_block;
  other.replace(other.find("\"tokens\": 4"), 11, "\"tokens\": 3");
  const std::string path = scratch_.write("decoder.json", other).string();
  const testing::outcome changed =
      tool({"predict", both_, "--allow-partial", "--model", path, "--format", "json"});
  EXPECT_TRUE(json::value::parse(changed.out).at("predictions").at(0).at("derived"));
}

TEST_F(Decode, IsWeighedAgainstPromptsAsAServiceRunsThem) {
  const json::value all = predicted({"--mix", "1:20"});
  ASSERT_THAT(all.at("services"), SizeIs(1));
  const json::value& service = all.at("services").at(0);
  EXPECT_EQ(service.at("prompt"), "inference/reference/f32/decoder_block/batch:2");
  EXPECT_EQ(service.at("decode"),
            "inference/reference/f32/decoder_block/batch:2/tokens:1/context:7");
  EXPECT_DOUBLE_EQ(service.at("seconds_to_first_token").at("value"), 10 * prompt_call);
  EXPECT_DOUBLE_EQ(service.at("seconds_per_decode_step").at("value"), 12 * decode_call);
  // A batch has two sequences.
  const double request = (10 * prompt_call + 20 * 12 * decode_call) / 2;
  EXPECT_NEAR(service.at("requests_per_second").at("value"), 1 / request, 1e-9);
  EXPECT_NEAR(service.at("tokens_per_second").at("value"), 21 / request, 1e-9);
  EXPECT_THAT(predict({"--mix", "1:20"}).out, mentions("requests/s"));
}

TEST_F(Decode, IsMixedFromPartialStepsOnRequest) {
  EXPECT_FALSE(predicted({"--mix", "1:20"}).at("services").at(0).at("partial"));
  json::value file = json::value::parse(testing::decoding_results(
      model_, {{4, 0, {}, prompt_call}, {1, 7, {{"tokens", "1"}, {"context", "7"}}, decode_call}}));
  json::value kept = json::value::array();
  for (const json::value& row : file.at("benchmarks")) {
    const std::string name = row.at("name");
    if (!name.starts_with("attention/") || name.find("context:7") == std::string::npos)
      kept.push_back(row);
  }
  file["benchmarks"] = kept;
  const std::string path = scratch_.write("r.json", file.dump()).string();
  const auto mixed = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"predict", path, "--model", model_, "--mix", "1:20"});
    return tool(more);
  };
  EXPECT_EQ(mixed({}).exit_code, 4);
  const testing::outcome done = mixed({"--allow-partial", "--format", "json"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const json::value all = json::value::parse(done.out);
  ASSERT_THAT(all.at("services"), SizeIs(1));
  const json::value& service = all.at("services").at(0);
  EXPECT_TRUE(service.at("partial"));
  EXPECT_DOUBLE_EQ(service.at("seconds_per_decode_step").at("value"), 11 * decode_call);
  const std::string text = mixed({"--allow-partial"}).out;
  const std::string services = text.substr(text.find("requests of"));
  EXPECT_THAT(services, ::testing::HasSubstr("> 11 "));
  EXPECT_THAT(services, ::testing::HasSubstr("< 6.25 "));
}

/// Speculative decoding: a draft whose calls take a fifth of the model's.
class Speculation : public Decode {
 protected:
  static constexpr double draft_call = decode_call / 5;
  static constexpr int prompt_calls = 10;
  static constexpr int decode_calls = 12;

  [[nodiscard]] static result::name_parameters after(const std::string& tokens) {
    return {{"tokens", tokens}, {"context", "7"}};
  }
  std::string draft_ = [this] {
    std::string text = testing::decoder_block;
    text.replace(text.find("decoder_block"), 13, "small");
    return scratch_.write("small.json", text).string();
  }();
  std::string model_file_ =
      scratch_
          .write("m.json", testing::decoding_results(model_, {{4, 0, {}, prompt_call},
                                                              {1, 7, after("1"), decode_call},
                                                              {3, 7, after("3"), decode_call},
                                                              {5, 7, after("5"), 2 * decode_call}}))
          .string();
  std::string draft_file_ =
      scratch_
          .write("d.json", testing::decoding_results(
                               draft_, {{4, 0, {}, draft_call}, {1, 7, after("1"), draft_call}}))
          .string();

  [[nodiscard]] testing::outcome with(std::vector<std::string> more) const {
    more.insert(more.begin(), {"predict", model_file_, draft_file_, "--model",
                               model_ + "," + draft_, "--mix", "1:20"});
    return tool(more);
  }
  [[nodiscard]] json::value speculation(const std::string& acceptance) const {
    const testing::outcome done =
        with({"--draft", "small", "--acceptance", acceptance, "--format", "json"});
    EXPECT_EQ(done.exit_code, 0) << done.err;
    const json::value all = json::value::parse(done.out);
    EXPECT_THAT(all.at("services"), SizeIs(1));
    return all.at("services").at(0).at("speculation");
  }
};

TEST_F(Speculation, GivesWhatAHandComputes) {
  const json::value found = speculation("0.8");
  EXPECT_EQ(found.at("draft"), "small");
  ASSERT_THAT(found.at("steps"), SizeIs(3));
  // Of 2 and 4 guesses: 1 + 0.8 + 0.64, and 0.512 + 0.4096 more.
  const std::vector<double> tokens{1, 2.44, 3.3616};
  const std::vector<double> calls{1, 1 + 2 / 5.0, 2 + 4 / 5.0};
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const json::value& step = found.at("steps").at(i);
    EXPECT_EQ(step.at("guesses"), 2 * i);
    EXPECT_NEAR(step.at("tokens_per_step"), tokens[i], 1e-12);
    const double seconds = calls[i] * decode_calls * decode_call;
    EXPECT_NEAR(step.at("seconds_per_step").at("value"), seconds, 1e-12);
    EXPECT_NEAR(step.at("decoded_tokens_per_second").at("value"), 2 * tokens[i] / seconds, 1e-6);
    const double prompt = prompt_calls * (i == 0 ? prompt_call : prompt_call + draft_call);
    const double request = (prompt + 20 / tokens[i] * seconds) / 2;
    EXPECT_NEAR(step.at("requests_per_second").at("value"), 1 / request, 1e-9);
    EXPECT_NEAR(step.at("tokens_per_second").at("value"), 21 / request, 1e-9);
  }
  EXPECT_EQ(found.at("best_guesses"), 2);
  EXPECT_THAT(with({"--draft", "small", "--acceptance", "0.8"}).out,
              mentions("small", "2.44", "3.36", "best"));
}

TEST_F(Speculation, FollowsTheAcceptance) {
  const auto rates = [&](const std::string& acceptance, const char* field) {
    std::vector<double> all;
    const json::value found = speculation(acceptance);
    for (const json::value& step : found.at("steps")) {
      const json::value& of = step.at(field);
      all.push_back(of.is_object() ? of.at("value").get<double>() : of.get<double>());
    }
    return all;
  };
  EXPECT_EQ(rates("0", "tokens_per_step"), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(rates("1", "tokens_per_step"), (std::vector<double>{1, 3, 5}));
  EXPECT_EQ(speculation("0").at("best_guesses"), 0);
  std::vector<double> before = rates("0", "tokens_per_second");
  for (const char* acceptance : {"0.3", "0.6", "1"}) {
    const std::vector<double> now = rates(acceptance, "tokens_per_second");
    EXPECT_DOUBLE_EQ(now[0], before[0]);
    for (const std::size_t i : {1U, 2U}) EXPECT_GT(now[i], before[i]) << acceptance;
    before = now;
  }
}

TEST_F(Speculation, NeedsBothModels) {
  EXPECT_EQ(with({"--draft", "small"}).exit_code, 2);
  EXPECT_EQ(with({"--acceptance", "0.5"}).exit_code, 2);
  for (const char* wrong : {"1.5", "-0.1", "x"}) {
    EXPECT_EQ(with({"--draft", "small", "--acceptance", wrong}).exit_code, 2) << wrong;
  }
  const testing::outcome done = with({"--draft", "other", "--acceptance", "0.5"});
  EXPECT_EQ(done.exit_code, 5);
  EXPECT_THAT(done.err, mentions("--draft", "other", "--tokens"));
}

TEST_F(Decode, IsNotMixedWithoutAPrompt) {
  EXPECT_EQ(predict({"--mix", "1:20", "--format", "csv"}).exit_code, 2);
  for (const char* wrong : {"1", "0:5", "1:0", "1:2:3", "a:b", "1:-1"}) {
    EXPECT_EQ(predict({"--mix", wrong}).exit_code, 2) << wrong;
  }
  EXPECT_EQ(predict({"--mix", "1:20", "--devices", "2", "--network", "ethernet_25"}).exit_code, 2);
  const std::string alone = write({{1, 7, {{"tokens", "1"}, {"context", "7"}}, 1}});
  const testing::outcome done = tool({"predict", alone, "--model", model_, "--mix", "1:20"});
  EXPECT_EQ(done.exit_code, 5);
  EXPECT_THAT(done.err, mentions("--mix", "--context"));
}

}  // namespace tools_decode_test
}  // namespace layerbench
