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
#include "worker/data/csv/csv_problems.h"
#include "worker/data/files/data_storage.h"
#include "worker/data/label_spec.h"

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

  // `source` is a CSV source that names all its columns (WithAllColumns); `plan` has what SurveyCsv
  // found. An input whose elements are as many as its columns' values has the model's shape, else
  // one axis. `labels` says what the labels of each of the model's outputs must be.
  CsvEncoder(const proto::DataSource& source, const proto::DataPlan& plan, const nn::Model& model,
             const std::vector<LabelSpec>& labels);
  CsvEncoder(const CsvEncoder&) = delete;
  CsvEncoder& operator=(const CsvEncoder&) = delete;

  // For each input that takes more or fewer values than its columns give: both numbers, and the
  // columns.
  std::vector<std::string> InputProblems() const;
  // For each output whose loss does not take as many labels: both shapes, and the columns.
  std::vector<std::string> LabelProblems() const;

  // InvalidArgument: fields that are missing, no numbers, not finite, too large, labels that the
  // loss does not take, or not in their vocabulary; it names file, lines, columns and values. Else
  // as ReadCsvBlocks and Spool. `threads` parse at a time.
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

  // What can be wrong with a field.
  enum Problem {
    kMissing,
    kNoNumber,
    kDecimalComma,
    kTooLarge,
    kNotWhole,
    kNotFinite,
    kNotALabel,
    kUnknownName,
    kExtraName,
  };

  struct Column {
    proto::CsvColumn spec;
    bool categorical = false;
    std::vector<std::string> names;  // The vocabulary.
    Ids ids;
    // What a missing value becomes.
    std::optional<double> fill;
    const LabelSpec* label = nullptr;  // Null: it is a feature.
    // Numbers between these are right; whether others are must be looked at.
    double least = 0;
    double most = 0;
    int target = 0;
    proto::DataType type = proto::FLOAT32;  // The target's.
    int64_t place = 0;                      // In the target's row.
    int64_t width = 1;
    int64_t bytes_behind = 0;  // From the column's first value to the row's end.
  };
  // An array in the making: an input, or behind them an output's labels.
  struct Target {
    proto::DataType type = proto::FLOAT32;
    nn::Shape wanted;  // Of an input: the model's.
    nn::Shape shape;
    std::string name;  // The model's for the input.
    int64_t elements = 0;
  };

  using Bytes = std::vector<std::string>;  // By target.
  // Of one block.
  struct Rows {
    int64_t count = 0;
    Bytes bytes;
  };

  void AddColumn(const proto::CsvColumn& spec, const proto::DataPlan& plan, int target);
  void SetBounds(Column* column) const;
  void Encode(const CsvRow& row, Rows* rows, CsvProblems* problems) const;
  // Both: what the field becomes or, if there is something wrong with it, what.
  std::optional<Problem> NumberOf(const Column& column, std::string_view field,
                                  double* value) const;
  std::optional<Problem> IdOf(const Column& column, std::string_view field, double* value) const;
  std::optional<Problem> CheckNumber(const Column& column, double value) const;
  CsvReason Describe(const Column& column, Problem problem, std::string_view field) const;
  CsvReason DescribeName(const Column& column, Problem problem) const;
  std::string ColumnsOf(int target) const;

  const proto::CsvSource source_;
  const bool allow_nan_;
  const double scale_;
  const std::vector<LabelSpec> labels_;
  // How many targets are inputs.
  const int inputs_;
  std::vector<Column> columns_;
  std::vector<std::string> names_;
  std::vector<Target> targets_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CSV_CSV_ENCODER_H_
