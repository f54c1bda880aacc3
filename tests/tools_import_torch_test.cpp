// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/json.hpp>

#include "import/shape_file.hpp"
#include "support/temporary_directory.hpp"

/// The import of calls that PyTorch has traced. tests/from_torch_test.py has what it makes of them.
namespace layerbench {
namespace tools_import_torch_test {

using json::value;

/// Replaces or removes something in a value.
class damage {
 public:
  explicit damage(unsigned seed) : dice_(seed) {}

  [[nodiscard]] bool likely(double chance) {
    return std::uniform_real_distribution<>(0, 1)(dice_) < chance;
  }

  void operator()(value& of) {
    if (!of.is_structured() || of.empty() || !likely(0.9)) {
      of = junk()[below(junk().size())];
      return;
    }
    const auto at = std::next(of.begin(), static_cast<std::ptrdiff_t>(below(of.size())));
    if (likely(0.1)) {
      of.erase(at);
    } else {
      (*this)(*at);
    }
  }

 private:
  std::size_t below(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(dice_);
  }
  static const std::vector<value>& junk() {
    static const value all = value::parse(
        R"([null, true, 0, -1, 3, 18446744073709551615, 1.5, "", "%x", "batch", [], {},
            ["batch", 2], "%", [[]], [0], [2, 2], [-1, 1], "same", 9223372036854775807, 2147483647,
            [2147483647], 1e300])");
    static const std::vector<value> list(all.begin(), all.end());
    return list;
  }

  std::mt19937 dice_;
};

TEST(ImportTorch, DamagedExportsAreBadInputOrIncomplete) {
  const std::filesystem::path data =
      std::filesystem::path(LAYERBENCH_SOURCE_DIR) / "tests/data/torch";
  const testing::temporary_directory directory;
  damage damaged(7);
  std::map<int, int> codes;
  for (const std::string name :
       {"image", "sequence", "signal", "in_place", "attention", "shuffle", "last_step", "waves",
        "folded", "layer_scale", "cut", "bert_2_layers", "gpt2_2_layers", "llama_2_layers"}) {
    const value whole = json::parse_file(data / (name + ".json"));
    const int count = name.ends_with("_2_layers") ? 20 : 100;
    for (int i = 0; i < count; ++i) {
      value wrong = whole;
      if (damaged.likely(0.8)) damaged(wrong["calls"]);
      if (damaged.likely(0.3)) damaged(wrong);
      const std::string file = directory.write("export.json", wrong.dump()).string();
      try {
        static_cast<void>(tool::importer::shape_file_of(tool::importer::read_torch(file), {}));
        ++codes[0];
      } catch (const error& refused) {
        ++codes[static_cast<int>(refused.code())];
        EXPECT_EQ(refused.code(), exit_code::bad_input) << refused.what() << '\n' << wrong.dump();
        EXPECT_NE(std::string_view(refused.what()).find("export.json"), std::string_view::npos)
            << refused.what();
      } catch (const std::exception& other) {
        ADD_FAILURE() << name << ' ' << i << ": " << other.what() << '\n' << wrong.dump();
      }
    }
  }
  EXPECT_GT(codes[0], 100);
  EXPECT_GT(codes[static_cast<int>(exit_code::bad_input)], 100);
}

}  // namespace tools_import_torch_test
}  // namespace layerbench
