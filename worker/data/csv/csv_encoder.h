#ifndef CAIRN_WORKER_DATA_CSV_CSV_ENCODER_H_
#define CAIRN_WORKER_DATA_CSV_CSV_ENCODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/layers/string_lookup.h"
#include "nn/signature.h"
#include "proto/job.pb.h"
#include "worker/data/array.h"
#include "worker/data/csv/csv_file.h"
#include "worker/data/csv/csv_filter.h"
#include "worker/data/csv/csv_problems.h"
#include "worker/data/encoded_rows.h"
#include "worker/data/features/feature_hash.h"
#include "worker/data/files/data_storage.h"
#include "worker/data/label_spec.h"
#include "worker/data/row_condition.h"

namespace cairn::worker {

// Encodes rows of CSV as rows of numbers: the values of the columns of each input of a model, one
// after the other, and the labels of each output. Numbers become float32, or int32 if the input (or
// the loss) takes whole numbers. Names become ids or one-hot vectors. Columns of an input that
// takes text become the indices of its StringLookup. Immutable, thread-safe.
class CsvEncoder {
 public:
  struct File {
    EncodedFile rows;
    std::string all_errors;  // Of the rows that were skipped; EncodedFile has the first.
  };

  // `source` is a CSV source that names all its columns (WithAllColumns). `plan` has the results of
  // SurveyCsvColumns. The array of an input has the model's shape if its columns have the right
  // number of values, otherwise one axis. `labels` has the valid labels of each output. Rows for
  // which a filter of `condition` is not true are left out or, if it needs all rows, zeros. Null:
  // there are no filters.
  CsvEncoder(const proto::DataSource& source, const proto::DataPlan& plan,
             const nn::Signature& model, const std::vector<LabelSpec>& labels,
             std::shared_ptr<const RowCondition> condition = nullptr);
  CsvEncoder(const CsvEncoder&) = delete;
  CsvEncoder& operator=(const CsvEncoder&) = delete;

  // A message for each input whose columns have too many or too few values.
  std::vector<std::string> InputProblems() const;
  // A message for each output whose loss takes another number of labels. Uses the losses of the
  // labels, which need not outlive the encoder.
  std::vector<std::string> LabelProblems() const;

  EncodedLayouts layouts() const;

  // `threads` threads parse at a time. Rows with an error are skipped if the source allows any
  // (DataSource.skip_damaged); the caller checks their number. InvalidArgument: a field is missing,
  // not a number, not finite, too large, not in its vocabulary, or a label that the loss does not
  // take. The message names the file, lines, columns and values. Other errors as ReadCsvBlocks and
  // Spool.
  absl::StatusOr<File> ReadFile(const std::string& path, int threads, DataStorage* storage) const;

  // The bytes of text that ReadFile encodes at a time. Encoded blocks wait in memory for their
  // turn. So blocks are smaller if rows are wide, and an encoded block has about 4 MiB.
  size_t block_bytes() const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Ids = std::unordered_map<std::string, int32_t, Hash, std::equal_to<>>;

  // The problems that a field can have.
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
    bool is_text = false;            // The input takes texts, which its layer looks up,
    bool takes_unknown = false;      // and others have the id 0.
    std::vector<std::string> names;  // The vocabulary.
    Ids ids;
    std::optional<FeatureHash> hash;  // In place of a vocabulary.
    // The replacement of a missing value.
    std::optional<double> fill;
    const LabelSpec* label = nullptr;  // Null for a feature.
    std::string taker;                 // Of the label, for messages.
    // Numbers from `least` to `most` are valid. CheckNumber decides about others.
    double least = 0;
    double most = 0;
    int target = 0;
    proto::DataType type = proto::FLOAT32;  // The target's.
    int64_t place = 0;                      // In the target's row.
    int64_t width = 1;
    int64_t bytes_behind = 0;  // From the column's first value to the end of the row.
  };
  // An array that is being encoded: an input, or the labels of an output. Inputs come first. The
  // last one is SourceArrays::passed, if the filters need all rows.
  struct Target {
    proto::DataType type = proto::FLOAT32;
    // The rows of an input, unless the pipeline changes their shape.
    std::optional<nn::Shape> wanted;
    nn::Shape shape;
    std::string name;  // The input's name in the model.
    int64_t elements = 0;
  };

  using Bytes = std::vector<std::string>;  // By target.
  // The encoded rows of one block.
  struct Rows {
    int64_t count = 0;
    Bytes bytes;
  };

  // `lookup`: of the input; null for one of numbers.
  void AddColumn(const proto::CsvColumn& spec, const proto::DataPlan& plan, int target,
                 const nn::StringLookupLayer* lookup = nullptr);
  void SetBounds(Column* column) const;
  void Encode(const CsvRow& row, Rows* rows, CsvProblems* problems) const;
  void AddZeros(Rows* rows) const;
  // Set `value` to the encoded field, or return its problem.
  std::optional<Problem> NumberOf(const Column& column, std::string_view field,
                                  double* value) const;
  std::optional<Problem> IdOf(const Column& column, std::string_view field, double* value) const;
  std::optional<Problem> CheckNumber(const Column& column, double value) const;
  CsvReason Describe(const Column& column, Problem problem, std::string_view field) const;
  CsvReason DescribeName(const Column& column, Problem problem) const;
  std::string ColumnsOf(int target) const;

  const proto::CsvSource source_;
  const bool allow_nan_;
  const bool skips_damaged_;
  const double scale_;
  const std::vector<LabelSpec> labels_;
  // The number of targets that are inputs.
  const int inputs_;
  std::vector<Column> columns_;
  std::vector<std::string> names_;
  std::vector<Target> targets_;
  std::optional<CsvFilter> filter_;  // Set by the constructor.
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CSV_CSV_ENCODER_H_
