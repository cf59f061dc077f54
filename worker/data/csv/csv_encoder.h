#ifndef CAIRN_WORKER_DATA_CSV_CSV_ENCODER_H_
#define CAIRN_WORKER_DATA_CSV_CSV_ENCODER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/model.h"
#include "proto/job.pb.h"
#include "worker/data/array.h"
#include "worker/data/csv/csv_file.h"
#include "worker/data/files/data_storage.h"

namespace cairn::worker {

// Turns rows of CSV into rows of numbers: for each input of a model the values of its columns, one
// after the other, and for each output the labels. Numbers become float32, or int32 where the input
// (or the loss) takes whole numbers; names become ids, or vectors of one 1. Immutable, thread-safe.
class CsvEncoder {
 public:
  struct Arrays {
    std::vector<Array> inputs;
    std::vector<Array> labels;
  };

  // `source` names all its columns (WithAllColumns); `plan` has what SurveyCsv found. An input
  // whose elements are as many as its columns' values has the model's shape, else one axis.
  // `label_types` are what the labels of each of the model's outputs are wanted in.
  CsvEncoder(const proto::CsvSource& source, const proto::DataPlan& plan, const nn::Model& model,
             const std::vector<proto::DataType>& label_types);

  // InvalidArgument: a field that is missing, no number, too large, or not in its vocabulary; it
  // names file, line, column and value. Else as ReadCsvRows and Spool. `threads` parse at a time.
  absl::StatusOr<Arrays> ReadFile(const std::string& path, int threads, DataStorage* storage) const;

  // How much text ReadFile encodes at a time: less if rows are wide, so that what a block becomes,
  // which waits in memory for its turn, stays at some 4 MiB.
  size_t block_bytes() const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Ids = std::unordered_map<std::string, int32_t, Hash, std::equal_to<>>;

  struct Column {
    proto::CsvColumn spec;
    bool categorical = false;
    Ids ids;
    // What a missing value becomes.
    std::optional<double> fill;
    int target = 0;
    proto::DataType type = proto::FLOAT32;  // The target's.
    int64_t place = 0;                      // In the target's row.
    int64_t width = 1;
    int64_t bytes_behind = 0;  // From the column's first value to the row's end.
  };
  // An array in the making: an input, or behind them an output's labels.
  struct Target {
    proto::DataType type = proto::FLOAT32;
    nn::Shape shape;
    int64_t elements = 0;
  };

  using Bytes = std::vector<std::string>;  // By target.
  // Of one block.
  struct Rows {
    int64_t count = 0;
    Bytes bytes;
  };

  void AddColumn(const proto::CsvColumn& spec, const proto::DataPlan& plan, int target);
  absl::Status Encode(const CsvRow& row, Rows* rows) const;
  absl::Status EncodeField(const Column& column, std::string_view field, char* row) const;
  absl::StatusOr<double> NumberOf(const Column& column, std::string_view field) const;
  absl::StatusOr<int32_t> IdOf(const Column& column, std::string_view field) const;

  const proto::CsvSource source_;
  // How many targets are inputs.
  const int inputs_;
  std::vector<Column> columns_;
  std::vector<std::string> names_;
  std::vector<Target> targets_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CSV_CSV_ENCODER_H_
