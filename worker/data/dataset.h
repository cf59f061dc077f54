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
#include "job/preprocessing.h"
#include "nn/loss.h"
#include "nn/model.h"
#include "nn/objective.h"
#include "proto/job.pb.h"
#include "worker/data/array.h"
#include "worker/data/permutation.h"
#include "worker/data/source_arrays.h"

namespace cairn::worker {

// The examples of a data source, checked against the model and the losses that they are for. Files
// keep their types; examples are converted when they are read. Immutable, thread-safe; copies share
// the data.
class Dataset {
 public:
  // What the labels of each output are wanted in: class numbers, or the loss's own type.
  static std::vector<proto::DataType> LabelTypes(const proto::DataSource& source,
                                                 const nn::Model& model,
                                                 const nn::Objective& objective);

  // A last axis of 1 that the model has and the data lack is added. Everything that can be wrong
  // with the data is found here, none of it later: InvalidArgument names the file, the row, what
  // was expected and what was found. `plan` has what the inspection found. `model` and `objective`,
  // which is for it, are not kept.
  static absl::StatusOr<Dataset> Create(SourceArrays arrays, const proto::DataSource& source,
                                        const proto::DataPlan& plan, const nn::Model& model,
                                        const nn::Objective& objective);

  // The same for inputs alone: whatever labels and weights there are is left aside.
  static absl::StatusOr<Dataset> CreateInputs(SourceArrays arrays, const proto::DataSource& source,
                                              const proto::DataPlan& plan, const nn::Model& model);

  // `count` of the examples, from `first` on, in the order of `order` or, without, of the files.
  Dataset Part(int64_t first, int64_t count, std::optional<Permutation> order) const;

  int64_t examples() const { return count_; }
  int inputs() const { return static_cast<int>(features_.size()); }
  // Elements of one example; all are of 4 bytes.
  int64_t input_elements(int input) const { return features_[input].elements; }
  // How many of the model's outputs there are labels for: all of them, or none.
  int outputs() const { return static_cast<int>(labels_.size()); }
  int64_t label_elements(int output) const { return labels_[output].elements; }
  // Whether examples have weights; else all count alike.
  bool has_weights() const { return weights_.has_value(); }
  // Else examples are read from disk.
  bool in_memory() const;

  // Copies the examples at `indices` (each below examples()), one after the other, into
  // indices.size() * input_elements(input) elements of the type that the model's input has.
  // DataLoss: the disk's error, or a file that became shorter or whose classes have changed.
  absl::Status ReadInput(int input, absl::Span<const int64_t> indices, void* out) const;
  // The same for an output's labels, in its loss's label_type().
  absl::Status ReadLabels(int output, absl::Span<const int64_t> indices, void* out) const;
  // One float32 for each. Only if has_weights().
  absl::Status ReadWeights(absl::Span<const int64_t> indices, float* out) const;

  // DataLoss: a file from which examples are read was changed since it was inspected.
  absl::Status CheckUnchanged() const;

  // The statistics by which each input is standardized, over those of the files' rows of which
  // `is_training` says so: empty ones for inputs of whole numbers. Reads everything.
  absl::StatusOr<std::vector<proto::DataPlan::Standardization>> Measure(
      const nn::Model& model, const std::function<bool(int64_t row)>& is_training) const;

 private:
  // An array together with how it is to be read.
  struct Column {
    Array array;
    proto::DataType type = proto::FLOAT32;
    int64_t elements = 0;
    job::Preprocessing preprocessing;
    // Above 0: whole numbers become vectors of so many elements.
    int64_t one_hot = 0;
  };

  Dataset() = default;
  // False: a class of a one-hot column is none of its classes. Nothing is written there then.
  static bool ConvertRow(const Column& column, const char* row, void* out);
  absl::Status ReadColumn(const Column& column, absl::Span<const int64_t> indices, void* out) const;
  absl::Status AddInputs(std::vector<Array> arrays, const proto::DataSource& source,
                         const proto::DataPlan& plan, const nn::Model& model);
  absl::Status AddInput(Array array, const proto::DataSource& source, const proto::DataPlan& plan,
                        const nn::Model& model, int input);
  absl::Status AddLabels(Array array, const proto::DataSource& source,
                         const nn::Model::Output& output, const nn::Loss& loss);
  absl::Status SetWeights(Array array);
  std::vector<const Array*> Arrays() const;
  int64_t RowOf(int64_t index) const;

  std::vector<Column> features_;
  std::vector<Column> labels_;  // By output.
  std::optional<Column> weights_;
  int64_t first_ = 0;
  int64_t count_ = 0;
  std::optional<Permutation> order_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_DATASET_H_
