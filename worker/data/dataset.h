#ifndef CAIRN_WORKER_DATA_DATASET_H_
#define CAIRN_WORKER_DATA_DATASET_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nn/loss.h"
#include "nn/model.h"
#include "proto/job.pb.h"
#include "worker/data/array.h"

namespace cairn::worker {

// The examples of a data source in memory, checked against the model and the loss that they are
// for. Files keep their types there; examples are converted when they are read. Immutable,
// thread-safe.
class Dataset {
 public:
  // Reads the files, in whatever format `source` names. A last axis of 1 that the model has and the
  // data lack is added. Everything that can be wrong with the data is found here, none of it later:
  // the error names the file, what was expected and what was found. `model` and `loss` are not
  // kept.
  static absl::StatusOr<std::unique_ptr<Dataset>> Load(const proto::DataSource& source,
                                                       const nn::Model& model,
                                                       const nn::Loss& loss);

  int64_t examples() const { return examples_; }
  int inputs() const { return static_cast<int>(features_.size()); }
  // Elements of one example; all are of 4 bytes.
  int64_t input_elements(int input) const { return features_[input].elements; }
  int64_t label_elements() const { return labels_.elements; }

  // Copies the examples at `indices` (each below examples()), one after the other, into
  // indices.size() * input_elements(input) elements of the type that the model's input has.
  void ReadInput(int input, absl::Span<const int64_t> indices, void* out) const;
  // The same for labels, in the loss's label_type().
  void ReadLabels(absl::Span<const int64_t> indices, void* out) const;

 private:
  // An array together with how it is to be read.
  struct Column {
    Array array;
    proto::DataType type = proto::FLOAT32;
    int64_t elements = 0;
    double scale = 1;
  };

  Dataset() = default;
  static void ReadColumn(const Column& column, absl::Span<const int64_t> indices, void* out);
  absl::Status AddInput(Array array, const nn::Model::Input& input, double scale);
  absl::Status SetLabels(Array array, const nn::Model& model, const nn::Loss& loss);

  int64_t examples_ = 0;
  std::vector<Column> features_;
  Column labels_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_DATASET_H_
