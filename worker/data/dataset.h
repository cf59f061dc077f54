#ifndef CAIRN_WORKER_DATA_DATASET_H_
#define CAIRN_WORKER_DATA_DATASET_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "job/moments.h"
#include "job/preprocessing.h"
#include "nn/loss.h"
#include "nn/objective.h"
#include "nn/signature.h"
#include "proto/job.pb.h"
#include "worker/data/array.h"
#include "worker/data/data_reader.h"
#include "worker/data/label_spec.h"
#include "worker/data/mixture.h"
#include "worker/data/permutation.h"
#include "worker/data/value_pipeline.h"

namespace cairn::worker {

struct DatasetPart;

// The examples of a data source, checked against the model and its losses. Data keep the types that
// they have in the files; examples are converted when they are read.
//
// Immutable, thread-safe. Copies share the data.
class Dataset {
 public:
  // Checks all of the data, unless their reader has (SourceArrays::checked): only errors of the
  // disk, and files that change later, are found after Create. Adds a last axis of size 1 if the
  // model has one and the data lack it. `plan` is the result of the inspection. `objective` belongs
  // to `model`; neither is kept. InvalidArgument names the file, the row, the expected and the
  // found value.
  static absl::StatusOr<Dataset> Create(SourceArrays arrays, const proto::DataSource& source,
                                        const proto::DataPlan& plan, const nn::Signature& model,
                                        const nn::Objective& objective);

  // As Create, for the inputs alone. Ignores labels and weights.
  static absl::StatusOr<Dataset> CreateInputs(SourceArrays arrays, const proto::DataSource& source,
                                              const proto::DataPlan& plan,
                                              const nn::Signature& model);

  // The examples of several datasets for one model, in the order of the mixture. Their numbers are
  // counted through all of its passes, of which examples() is one. Some may have no weights: each
  // example of these has weight 1.
  static Dataset Mix(std::vector<Dataset> sources, Mixture mixture);

  // Puts examples together: example i consists of example i of all parts, which have as many
  // examples. Each input and each output with labels is in one part, and at most one part has
  // weights.
  static Dataset Zip(std::vector<DatasetPart> parts);

  // All examples but these, whose numbers ascend. Not of a mixture, and not twice.
  Dataset Without(const std::vector<int64_t>& examples) const;

  // The examples [first, first + count) in the order of `order`, or of the files if it is none.
  Dataset Subset(int64_t first, int64_t count, std::optional<Permutation> order) const;

  // The first `count` examples, of which there are so many.
  Dataset First(int64_t count) const;

  int64_t examples() const { return count_; }
  int inputs() const { return static_cast<int>(features_.size()); }
  // The number of elements of one example; each has 4 bytes.
  int64_t input_elements(int input) const { return features_[input].elements; }
  proto::DataType input_type(int input) const { return features_[input].type; }
  // The number of outputs with labels: all of the model's, or 0.
  int outputs() const { return static_cast<int>(labels_.size()); }
  int64_t label_elements(int output) const { return labels_[output].elements; }
  proto::DataType label_type(int output) const { return labels_[output].type; }
  // Whether examples have weights; otherwise each has weight 1.
  bool has_weights() const { return weights_.has_value(); }
  // Whether all data are in memory; otherwise reads access the disk.
  bool in_memory() const;
  // Whether steps of a pipeline change values when they are read.
  bool has_steps() const;

  // Where Read writes examples, contiguously: for an input the shape is
  // (examples, input_elements(input)), of the type of the model's input. Null, or none: not read.
  struct Buffers {
    std::vector<void*> inputs;
    std::vector<void*> labels;  // Of each output, of its loss's label_type().
    float* weights = nullptr;
  };
  // Copies the examples at `indices`, each below examples(). With `key` the random steps of the
  // pipeline draw numbers, which are functions of the key and the example's index. DataLoss: an
  // error of the disk, a file that has changed since it was opened, or a value that a step of the
  // pipeline refuses.
  absl::Status Read(absl::Span<const int64_t> indices, const Buffers& to,
                    std::optional<uint64_t> key = std::nullopt) const;
  // As Read, for one input.
  absl::Status ReadInput(int input, absl::Span<const int64_t> indices, void* out) const;
  absl::Status ReadLabels(int output, absl::Span<const int64_t> indices, void* out) const;
  // One for each example.
  absl::Status ReadWeights(absl::Span<const int64_t> indices, float* out) const;

  // Opens the files of these examples that are opened when they are needed. Errors as Read's.
  absl::Status OpenFiles(absl::Span<const int64_t> indices) const;
  // Whether all files are open.
  bool is_open() const;

  // Rows of the data, from `first` to the one before `end`.
  struct RowRange {
    int64_t first = 0;
    int64_t end = 0;
  };
  RowRange all_rows() const { return {0, count_}; }
  // Those of reader `number` of `readers`, who read all of them together. A file, or part of a
  // file, has one reader, if there are enough.
  RowRange RowsOf(int64_t number, int64_t readers) const;
  // InvalidArgument: a step of the pipeline refuses a value of these rows, or its result is not
  // finite. Names the file and the row. Reads the rows if a step may refuse some.
  enum class Inputs { kAll, kNormalized, kOthers };  // Normalized by the results of Measure.
  absl::Status CheckSteps(RowRange rows, Inputs inputs = Inputs::kAll) const;
  // For the plan, if there are steps: the shapes of the inputs before them.
  std::vector<proto::DataPlan::ExampleShape> InputShapes() const;

  // Computes the moments of each input that is standardized, or has a step that normalizes by them,
  // over those of the rows for which `is_training`, which several threads call, returns true. They
  // have no places for the other inputs. Reads the rows.
  absl::StatusOr<std::vector<job::Moments>> Measure(
      const nn::Signature& model, const std::function<bool(int64_t row)>& is_training,
      RowRange rows) const;
  // The same examples. The steps that normalize by the results of Measure have those of
  // `measured`, which is of all examples.
  Dataset WithStatistics(const std::vector<job::Moments>& measured) const;

 private:
  // An array and the conversion of its rows.
  struct Column {
    Array array;
    ValuePipeline steps;
    proto::DataType type = proto::FLOAT32;
    int64_t elements = 0;
    job::Preprocessing preprocessing;
    bool is_standardized = false;  // By the statistics of the training data, after the steps.
    bool is_checked = false;       // The reader has checked the values of the rows.
    bool allows_nan = false;
    // Above 0: integers are converted to one-hot vectors of this size.
    int64_t one_hot = 0;
  };

  Dataset() = default;
  // The ranges that threads read, several at the same time.
  static std::vector<RowRange> PiecesOf(RowRange rows);
  // InvalidArgument: the reason why the row cannot be converted; `out` is then incomplete.
  static absl::Status ConvertRow(const Column& column, const char* row, std::optional<uint64_t> key,
                                 void* out);
  absl::Status ReadColumn(const Column& column, absl::Span<const int64_t> indices,
                          std::optional<uint64_t> key, void* out) const;
  absl::Status ReadMixed(absl::Span<const int64_t> indices, Buffers to,
                         std::optional<uint64_t> key) const;
  absl::Status AddInputs(std::vector<Array> arrays, const proto::DataSource& source,
                         const proto::DataPlan& plan, const nn::Signature& model);
  absl::Status AddInput(Array array, const proto::DataSource& source, const proto::DataPlan& plan,
                        const nn::Signature& model, int input);
  absl::Status AddLabels(Array array, const proto::DataSource& source, const LabelSpec& wanted);
  absl::Status SetWeights(Array array);
  std::vector<const Array*> Arrays() const;
  // Whether all arrays, also those of the sources of a mixture, are so.
  bool AllArrays(bool (Array::*is)() const) const;
  // The row of the files that example `index` of this dataset is.
  int64_t RowOf(int64_t index) const;

  std::vector<Column> features_;
  std::vector<Column> labels_;  // By output.
  std::optional<Column> weights_;
  bool checked_ = false;  // SourceArrays::checked
  int64_t first_ = 0;
  int64_t count_ = 0;
  std::optional<Permutation> order_;
  // Of a mixture, whose columns have no arrays.
  std::shared_ptr<const std::vector<Dataset>> sources_;
  std::optional<Mixture> mixture_;
};

// A part of each example, for some inputs and outputs of the model: their places in it.
struct DatasetPart {
  Dataset dataset;
  std::vector<int> inputs;
  std::vector<int> outputs;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_DATASET_H_
