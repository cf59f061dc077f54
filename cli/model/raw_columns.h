#ifndef CAIRN_CLI_MODEL_RAW_COLUMNS_H_
#define CAIRN_CLI_MODEL_RAW_COLUMNS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/tensor.h"
#include "proto/job.pb.h"

namespace cairn::cli {

// A column of a table, a feature of records or a text, of one input of the job's model, and what
// the job does to its values.
struct RawColumn {
  std::string name;
  std::string input;  // Empty: the only one.
  // At most one of these three converts the values.
  std::optional<proto::Hashing> hash;
  std::optional<proto::TextVectorization> text;
  bool has_names = false;
  std::vector<std::string> vocabulary;  // Of names, or of tokens.
  bool unknown = false;                 // Other names have an id, too.
  bool one_hot = false;
  nn::Shape shape;  // Empty: not given.

  bool is_converted() const { return hash || text || has_names; }
};

// The columns of the training data in their order; none if these have arrays or images.
// InvalidArgument, with the column's name: layers of a model cannot do what the job does to it,
// such as a replacement for missing values, or it has a name that is not UTF-8.
absl::StatusOr<std::vector<RawColumn>> RawColumnsOf(const proto::JobPlan& plan);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MODEL_RAW_COLUMNS_H_
