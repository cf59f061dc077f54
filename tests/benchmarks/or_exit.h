#ifndef CAIRN_TESTS_BENCHMARKS_OR_EXIT_H_
#define CAIRN_TESTS_BENCHMARKS_OR_EXIT_H_

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/formats/model_file.h"

namespace cairn {

// For benchmark programs: prints an error to standard error and exits with 1.
inline void OrExit(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

template <typename T>
T OrExit(absl::StatusOr<T> value) {
  OrExit(value.status());
  return *std::move(value);
}

// The architecture in a model file.
inline proto::ModelSpec ReadSpec(const char* file) {
  std::ifstream stream(file);
  if (!stream) OrExit(absl::NotFoundError(std::string("cannot read ") + file));
  std::ostringstream text;
  text << stream.rdbuf();
  return OrExit(nn::ReadModel(text.str(), {})).spec;
}

}  // namespace cairn

#endif  // CAIRN_TESTS_BENCHMARKS_OR_EXIT_H_
