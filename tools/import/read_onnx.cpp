// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <unordered_map>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <layerbench/base/input_path.hpp>

#include "graph.hpp"

// Numbers of fields are those of onnx/onnx.proto of the ONNX project, which never change. Fields
// are read one by one, without generated classes, so that what is not needed is skipped.

namespace layerbench::tool::importer {
namespace {

constexpr std::size_t most_nodes = 50'000;
constexpr std::size_t most_values = 400'000;
constexpr int most_nested_graphs = 8;
/// Bytes of a tensor whose elements are read: shapes, axes, scales.
constexpr std::uint32_t most_elements_bytes = 64 << 10;
/// Bytes of names and attributes together.
constexpr std::size_t most_text_bytes = 48 << 20;

/// Types of fields in the wire format of protobuf.
enum class wire { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct field {
  int number;
  wire type;
};

/// An open file, closed in the end.
class open_file {
 public:
  explicit open_file(const std::string& file)
      : number_(::open(input_path(file).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat about{};
    if (number_ < 0 || ::fstat(number_, &about) != 0) {
      throw bad_input(file, "", "cannot be read; check that it exists and its permissions");
    }
    size_ = about.st_size;
    if (S_ISREG(about.st_mode)) return;
    ::close(number_);
    throw bad_input(file, "", "is no regular file");
  }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  ~open_file() { ::close(number_); }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  int number_;
  std::int64_t size_ = 0;
};

/// Elements as they come; more than `most` of them are not kept.
struct number_list {
  std::vector<double> values;
  bool complete = true;

  void add(double value) {
    complete = complete && values.size() < most_elements_bytes / 4;
    if (complete) values.push_back(value);
  }
};

bool has_16_bits(int type) { return type == element::f16 || type == element::bf16; }

/// The numbers of an f16 or bf16 tensor, of their bits; nothing where these are no 16 bits.
std::optional<std::vector<double>> of_bits(std::vector<double> all, int type) {
  for (double& one : all) {
    if (std::isnan(one) || one < 0 || one > 0xFFFF) return std::nullopt;
    const auto bits = static_cast<std::uint16_t>(one);
    one = type == element::f16 ? static_cast<double>(std::bit_cast<_Float16>(bits))
                               : std::bit_cast<float>(std::uint32_t{bits} << 16U);
  }
  return all;
}

/// The elements in `raw_data`, which is little-endian; nothing for types that no size has.
std::optional<std::vector<double>> decoded(const std::string& raw, int type) {
  const auto as = [&]<class T>(T /*tag*/) {
    std::vector<double> values;
    for (std::size_t at = 0; at + sizeof(T) <= raw.size(); at += sizeof(T)) {
      T one;
      std::memcpy(&one, raw.data() + at, sizeof(T));
      values.push_back(static_cast<double>(one));
    }
    return values;
  };
  static_assert(std::endian::native == std::endian::little);
  switch (type) {
    case element::f32: return as(float{});
    case element::u8:
    case element::boolean: return as(std::uint8_t{});
    case element::i8: return as(std::int8_t{});
    case element::i32: return as(std::int32_t{});
    case element::i64: return as(std::int64_t{});
    case element::f64: return as(double{});
    case element::f16:
    case element::bf16: return of_bits(as(std::uint16_t{}), type);
    default: return std::nullopt;
  }
}

/// Types of 8 and 4 bits, whose numbers stand as bits in int32_data.
bool is_narrow_float(int type) { return type > element::bf16; }

class reader {
 public:
  explicit reader(const std::string& file)
      : file_(file), stream_(file_.number()), input_(&stream_) {
    result_.file = file;
    input_.SetTotalBytesLimit(std::numeric_limits<int>::max());
  }

  graph read() && {
    if (file_.size() > std::numeric_limits<int>::max()) {
      fail("has more than 2 GiB, which protobuf does not allow; save its weights as external data");
    }
    bool has_graph = false;
    fields([&](field f) {
      switch (f.number) {
        case 2: result_.producer = text(f); break;
        case 7:
          message(f, [&](field inner) { graph_field(inner); });
          has_graph = true;
          break;
        case 8: opset(f); break;
        default: skip(f);
      }
    });
    place_.clear();
    if (!has_graph) fail("is no ONNX model: it has no graph");
    finish();
    result_.source = fmt::format(
        "{} (ONNX, opset {}{}{})", std::filesystem::path(result_.file).filename().string(),
        result_.opset, result_.producer.empty() ? "" : ", by ", result_.producer.substr(0, 80));
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw bad_input(result_.file, place_, what);
  }

  // The wire format.

  /// Calls `visit` for each field of a message, to its end.
  template <class Visit>
  void fields(Visit visit) {
    while (const std::uint32_t tag = input_.ReadTag()) {
      const auto type = static_cast<int>(tag & 7U);
      if (type > 2 && type != 5) fail("is no ONNX model, or damaged: no field is of this kind");
      visit(field{static_cast<int>(tag >> 3U), static_cast<wire>(type)});
    }
    if (!input_.ConsumedEntireMessage()) fail("is no ONNX model, or damaged");
  }

  /// The length of a field, which must be inside the file.
  int length(field f) {
    std::uint32_t bytes = 0;
    if (f.type != wire::bytes) fail("is no ONNX model, or damaged: a field has another type");
    const int left = input_.BytesUntilLimit();
    if (!input_.ReadVarint32(&bytes) ||
        bytes > static_cast<std::uint64_t>(file_.size() - input_.CurrentPosition()) ||
        (left >= 0 && bytes > static_cast<std::uint32_t>(left))) {
      fail("ends too early: the file is truncated or damaged");
    }
    return static_cast<int>(bytes);
  }

  template <class Visit>
  void message(field f, Visit visit) {
    const auto outer = input_.PushLimit(length(f));
    fields(visit);
    input_.PopLimit(outer);
  }

  void skip(field f) {
    bool good = false;
    std::uint64_t ignored = 0;
    switch (f.type) {
      case wire::varint: good = input_.ReadVarint64(&ignored); break;
      case wire::fixed64: good = input_.Skip(8); break;
      case wire::fixed32: good = input_.Skip(4); break;
      case wire::bytes: good = input_.Skip(length(f)); break;
    }
    if (!good) fail("ends too early: the file is truncated or damaged");
  }

  void count_text(std::size_t bytes) {
    text_bytes_ += bytes;
    if (text_bytes_ > most_text_bytes) {
      fail(fmt::format("more than {} MiB of names and attributes", most_text_bytes >> 20));
    }
  }

  std::string text(field f) {
    std::string result;
    const int bytes = length(f);
    count_text(static_cast<std::size_t>(bytes));
    if (!input_.ReadString(&result, bytes)) fail("ends too early");
    return result;
  }

  std::int64_t integer(field f) {
    std::uint64_t value = 0;
    if (f.type != wire::varint || !input_.ReadVarint64(&value)) {
      fail("is no ONNX model, or damaged: expected a whole number");
    }
    return static_cast<std::int64_t>(value);
  }

  double real(wire type) {
    std::uint32_t narrow = 0;
    std::uint64_t wide = 0;
    if (type == wire::fixed32 && input_.ReadLittleEndian32(&narrow)) {
      return std::bit_cast<float>(narrow);
    }
    if (type == wire::fixed64 && input_.ReadLittleEndian64(&wide)) {
      return std::bit_cast<double>(wide);
    }
    fail("is no ONNX model, or damaged: expected a number");
  }

  /// Calls `add` for each element of a repeated field, which may be packed.
  template <class Read>
  void repeated(field f, wire single, Read read) {
    if (f.type == single) return read();
    const auto outer = input_.PushLimit(length(f));
    while (input_.BytesUntilLimit() > 0) read();
    input_.PopLimit(outer);
  }

  void integers(field f, std::vector<std::int64_t>& all) {
    repeated(f, wire::varint, [&] {
      count_text(8);
      all.push_back(integer({f.number, wire::varint}));
    });
  }

  void elements(field f, wire single, number_list& all) {
    if (f.type == wire::bytes) {
      const auto outer = input_.PushLimit(length(f));
      if (input_.BytesUntilLimit() > static_cast<int>(most_elements_bytes)) {
        all.complete = false;
        input_.Skip(input_.BytesUntilLimit());
      }
      while (input_.BytesUntilLimit() > 0) all.add(number(single));
      input_.PopLimit(outer);
    } else if (f.type == single) {
      all.add(number(single));
    } else {
      fail("is no ONNX model, or damaged: an element has another type");
    }
  }

  double number(wire type) {
    return type == wire::varint ? static_cast<double>(integer({0, type})) : real(type);
  }

  // Messages.

  void opset(field f) {
    std::string domain;
    std::int64_t version = 0;
    message(f, [&](field inner) {
      switch (inner.number) {
        case 1: domain = text(inner); break;
        case 2: version = integer(inner); break;
        default: skip(inner);
      }
    });
    if (domain.empty() || domain == "ai.onnx") result_.opset = version;
  }

  void graph_field(field f) {
    switch (f.number) {
      case 1: node_field(f); break;
      case 5: {
        tensor read = tensor_field(f, "graph/initializer");
        value& of = result_.values[intern(read.name)];
        of.type = read.type;
        of.initializer = std::move(read);
        break;
      }
      case 11: result_.inputs.push_back(value_field(f)); break;
      case 12: result_.outputs.push_back(value_field(f)); break;
      case 13: value_field(f); break;
      case 15: fail("graph/sparse_initializer: sparse weights are not supported");
      default: skip(f);
    }
  }

  std::size_t intern(const std::string& name) {
    const auto [found, added] = by_name_.emplace(name, result_.values.size());
    if (added) {
      if (++values_ > most_values) {
        fail(fmt::format("the graph has more than {} tensors", most_values));
      }
      result_.values.push_back({name});
    }
    return found->second;
  }

  void node_field(field f) {
    node read;
    read.index = result_.nodes.size();
    place_ = fmt::format("graph/node/{}", read.index);
    if (++nodes_ > most_nodes) fail(fmt::format("the graph has more than {} nodes", most_nodes));
    message(f, [&](field inner) {
      switch (inner.number) {
        case 1: {
          const std::string name = text(inner);
          read.inputs.push_back(name.empty() ? no_value : intern(name));
          break;
        }
        case 2: read.outputs.push_back(intern(text(inner))); break;
        case 3: read.name = text(inner); break;
        case 4: read.op = text(inner); break;
        case 5: read.attributes.push_back(attribute_field(inner)); break;
        case 7: read.domain = text(inner); break;
        case 9: metadata(inner, read); break;
        default: skip(inner);
      }
    });
    result_.nodes.push_back(std::move(read));
    place_.clear();
  }

  /// What PyTorch's exporter notes of a node.
  void metadata(field f, node& of) {
    std::string key;
    std::string noted;
    message(f, [&](field inner) {
      switch (inner.number) {
        case 1: key = text(inner); break;
        case 2:
          if (key == "pkg.torch.onnx.name_scopes" || key == "pkg.onnxscript.rewriter.rule_name") {
            noted = text(inner);
          } else {
            skip(inner);
          }
          break;
        default: skip(inner);
      }
    });
    if (key == "pkg.torch.onnx.name_scopes") of.scope = noted;
    if (noted.find("FuseBatchNorm") != std::string::npos) of.folded_batchnorm = true;
  }

  attribute attribute_field(field f) {
    attribute read;
    message(f, [&](field inner) {
      switch (inner.number) {
        case 1: read.name = text(inner); break;
        case 2: read.f = real(inner.type); break;
        case 3: read.i = integer(inner); break;
        case 4: read.s = text(inner); break;
        case 5: read.t = tensor_field(inner, place_ + "/attribute"); break;
        case 6: read.g = subgraph_field(inner); break;
        case 7:
          repeated(inner, wire::fixed32, [&] {
            count_text(8);
            read.floats.push_back(real(wire::fixed32));
          });
          break;
        case 8: integers(inner, read.ints); break;
        case 9: read.strings.push_back(text(inner)); break;
        default: skip(inner);
      }
    });
    return read;
  }

  /// A branch of an If, or the body of a Loop or Scan.
  std::shared_ptr<const graph> subgraph_field(field f) {
    if (++nested_graphs_ > most_nested_graphs) {
      fail(fmt::format("has more than {} graphs one in the other", most_nested_graphs));
    }
    const std::string place = place_;
    graph outer = std::exchange(result_, {});
    result_.file = outer.file;
    auto outer_names = std::exchange(by_name_, {});
    message(f, [&](field inner) { graph_field(inner); });
    const auto read = std::make_shared<const graph>(std::exchange(result_, std::move(outer)));
    by_name_ = std::move(outer_names);
    place_ = place;
    --nested_graphs_;
    return read;
  }

  tensor tensor_field(field f, const std::string& place) {
    tensor read;
    number_list listed;
    std::string raw;
    bool has_raw = false;
    bool elsewhere = false;
    const std::string outer = std::exchange(place_, place);
    message(f, [&](field inner) {
      switch (inner.number) {
        case 1: integers(inner, read.extents); break;
        case 2: read.type = static_cast<int>(integer(inner)); break;
        case 4: elements(inner, wire::fixed32, listed); break;
        case 5:
        case 7:
        case 11: elements(inner, wire::varint, listed); break;
        case 8: read.name = text(inner); break;
        case 9: {
          const auto bytes = static_cast<std::uint32_t>(length(inner));
          has_raw = bytes <= most_elements_bytes;
          if (!(has_raw ? input_.ReadString(&raw, static_cast<int>(bytes))
                        : input_.Skip(static_cast<int>(bytes)))) {
            fail("ends too early: the file is truncated or damaged");
          }
          break;
        }
        case 10: elements(inner, wire::fixed64, listed); break;
        case 13: elsewhere = true; [[fallthrough]];
        default: skip(inner);
      }
    });
    check(read);
    std::optional<std::vector<double>> values;
    if (has_raw) {
      values = decoded(raw, read.type);
    } else if (!elsewhere && listed.complete && !is_narrow_float(read.type)) {
      values = has_16_bits(read.type) ? of_bits(std::move(listed.values), read.type)
                                      : std::move(listed.values);
    }
    const auto count = static_cast<std::size_t>(layerbench::elements(read.extents));
    if (values && values->size() == count) {
      count_text(8 * count);
      read.elements = {read.extents, std::move(*values)};
    }
    place_ = outer;
    return read;
  }

  void check(const tensor& read) const {
    std::int64_t count = 1;
    for (const std::int64_t extent : read.extents) {
      if (extent < 0 || extent > max_size || __builtin_mul_overflow(count, extent, &count) ||
          read.extents.size() > 16) {
        fail(fmt::format("{}: these are no extents of a tensor: {}", in_quotes(read.name),
                         joined(read.extents, "x").substr(0, 80)));
      }
    }
  }

  std::size_t value_field(field f) {
    place_ = "graph/value_info";
    std::string name;
    int type = 0;
    std::optional<std::vector<named_size>> extents;
    message(f, [&](field inner) {
      switch (inner.number) {
        case 1: name = text(inner); break;
        case 2:
          message(inner, [&](field kind) {
            if (kind.number != 1) return skip(kind);  // no tensor, but a sequence or a map
            message(kind, [&](field of) {
              switch (of.number) {
                case 1: type = static_cast<int>(integer(of)); break;
                case 2: extents = shape_field(of); break;
                default: skip(of);
              }
            });
          });
          break;
        default: skip(inner);
      }
    });
    const std::size_t index = intern(name);
    value& of = result_.values[index];
    if (of.type == 0) of.type = type;
    of.extents = std::move(extents);
    place_.clear();
    return index;
  }

  std::vector<named_size> shape_field(field f) {
    std::vector<named_size> extents;
    message(f, [&](field inner) {
      if (inner.number != 1) return skip(inner);
      named_size one;
      count_text(sizeof(one));
      message(inner, [&](field of) {
        switch (of.number) {
          case 1: one.size = integer(of); break;
          case 2: one.name = text(of); break;
          default: skip(of);
        }
      });
      if (one.name == "?") one.name.clear();  // each of them is another size
      if (one.size < -1 || one.size > max_size) {
        fail(fmt::format("{} is no size", one.size));
      }
      extents.push_back(std::move(one));
    });
    return extents;
  }

  /// Checks that each node reads what is there before it, and writes what nothing else writes.
  void finish() {
    std::erase_if(result_.inputs,
                  [&](std::size_t i) { return result_.values[i].initializer.has_value(); });
    std::vector<bool> known(result_.values.size(), false);
    for (std::size_t i = 0; i < known.size(); ++i)
      known[i] = result_.values[i].initializer.has_value();
    for (const std::size_t i : result_.inputs) known[i] = true;
    for (std::size_t i = 0; i < result_.nodes.size(); ++i) {
      const node& of = result_.nodes[i];
      const auto wrong = [&](std::size_t value, std::string_view what) {
        place_ = place(i, of);
        fail(fmt::format("{} {}", in_quotes(result_.values[value].name), what));
      };
      for (const std::size_t input : of.inputs) {
        if (input != no_value && !known[input]) {
          wrong(input, "is read, but no node before this one writes it");
        }
      }
      for (const std::size_t output : of.outputs) {
        if (known[output] && !result_.values[output].name.empty()) {
          wrong(output, "is written twice");
        }
        known[output] = true;
      }
    }
    for (const std::size_t output : result_.outputs) {
      if (known[output]) continue;
      place_ = "graph/output";
      fail(fmt::format("no node writes {}", in_quotes(result_.values[output].name)));
    }
    if (result_.outputs.empty()) fail("the graph has no output");
  }

  open_file file_;
  google::protobuf::io::FileInputStream stream_;
  google::protobuf::io::CodedInputStream input_;
  graph result_;
  std::string place_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::size_t text_bytes_ = 0;
  std::size_t nodes_ = 0;  ///< of all graphs
  std::size_t values_ = 0;
  int nested_graphs_ = 0;
};

}  // namespace

graph read_onnx(const std::string& file) { return reader(file).read(); }

}  // namespace layerbench::tool::importer
