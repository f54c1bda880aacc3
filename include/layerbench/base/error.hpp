// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include <layerbench/base/units.hpp>

namespace layerbench {

/// Exit codes of all programs of the suite.
enum class exit_code : int {
  done = 0,
  failure = 1,          ///< internal or library failure
  usage = 2,            ///< the command line is wrong; nothing ran
  bad_input = 3,        ///< an input file is wrong
  incomplete = 4,       ///< ran, but rows failed or a layer is unmeasured
  nothing_matched = 5,  ///< the filter or the model name selects nothing
  unavailable = 77,     ///< the asked-for backend cannot run here
  interrupted = 130,    ///< stopped by SIGINT or SIGTERM; what was measured is kept
};

/// Base of all exceptions that layerbench throws itself. It has the exit code of its program.
class error : public std::runtime_error {
 public:
  explicit error(const std::string& what, exit_code code = exit_code::failure)
      : std::runtime_error(what), code_(code) {}
  [[nodiscard]] exit_code code() const noexcept { return code_; }

 private:
  exit_code code_;
};

/// A wrong option, or a wrong combination of options.
struct usage_error : error {
  explicit usage_error(const std::string& what) : error(what, exit_code::usage) {}
};

/// An unusable file. The text names the file, the place in it (a JSON pointer) and the remedy.
struct bad_input : error {
  bad_input(std::string_view file, std::string_view pointer, std::string_view message)
      : error(std::string(file) + (pointer.empty() ? "" : ": at ") + std::string(pointer) + ": " +
                  std::string(message),
              exit_code::bad_input) {}
};

/// A name or filter that selects nothing.
struct nothing_matched : error {
  explicit nothing_matched(const std::string& what) : error(what, exit_code::nothing_matched) {}
};

/// A backend that cannot run on this machine or is not part of this build.
struct unavailable : error {
  explicit unavailable(const std::string& what) : error(what, exit_code::unavailable) {}
};

/// A shape, data type or pass that a backend does not support. Its row is reported as failed.
struct unsupported : error {
  explicit unsupported(const std::string& what) : error(what, exit_code::incomplete) {}
};

/// An allocation larger than the available memory. Its row is reported as failed.
struct not_enough_memory : error {
  not_enough_memory(std::int64_t needed, std::int64_t available)
      : error("not enough memory: " + units::si(static_cast<double>(needed), "B") +
                  " are needed at once, " + units::si(static_cast<double>(available), "B") +
                  " are available",
              exit_code::incomplete) {}
};

/// A device on which no call succeeds any more. The run ends, and keeps what was measured.
struct device_lost : error {
  explicit device_lost(const std::string& what) : error(what) {}
};

/// A failed library call, with the library's name, the call and the library's status text.
struct api_error : error {
  api_error(std::string_view library, std::string_view call, std::string_view status)
      : error(std::string(library) + ": " + std::string(call) + " failed: " + std::string(status)) {
  }
};

}  // namespace layerbench
