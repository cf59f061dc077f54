#ifndef CAIRN_WORKER_DATA_TFRECORD_TFRECORD_ENCODER_H_
#define CAIRN_WORKER_DATA_TFRECORD_TFRECORD_ENCODER_H_

#include <cstdint>
#include <memory>
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
#include "worker/data/files/data_storage.h"
#include "worker/data/files/file_bytes.h"
#include "worker/data/images/resize_image.h"
#include "worker/data/label_spec.h"
#include "worker/data/tfrecord/example_parser.h"

namespace cairn::worker {

// Encodes the records of TFRecord files as rows of numbers: for each target (an input of the model,
// or the labels of an output; inputs come first) the values of its features, one after the other.
// They become float32, or int32 if the target takes whole numbers. A target whose only feature
// holds raw elements of at most 16 bits keeps their type. Checks all values. Immutable,
// thread-safe.
class TfrecordEncoder {
 public:
  // A file that has been read.
  struct File {
    std::vector<std::shared_ptr<const FileBytes>> rows;  // By target.
    int64_t examples = 0;
    proto::DamagedRecords damaged;  // That were skipped.
  };

  // `source` is a TFRecord source that names its features. `labels` has the valid labels of each
  // output; if it is empty, there are no targets of labels.
  TfrecordEncoder(const proto::DataSource& source, const nn::Model& model,
                  const std::vector<LabelSpec>& labels);
  TfrecordEncoder(const TfrecordEncoder&) = delete;
  TfrecordEncoder& operator=(const TfrecordEncoder&) = delete;

  // InvalidArgument: the features of a target have too many or too few values. Uses the losses of
  // the labels, which need not outlive it.
  absl::Status CheckShapes() const;

  int inputs() const { return inputs_; }
  int targets() const { return static_cast<int>(targets_.size()); }
  int64_t row_bytes(int target) const { return targets_[target].row_bytes; }
  // The array of a target's rows.
  Array ArrayOf(int target, std::shared_ptr<const FileBytes> rows, int64_t examples) const;

  // Damaged records, and those with invalid values, are skipped if the source allows any; the
  // caller checks their number. InvalidArgument otherwise: names the file, the record and its
  // offset, the feature and the value. Other errors as RecordReader and Spool.
  absl::StatusOr<File> ReadFile(const std::string& path, DataStorage* storage) const;

 private:
  struct Feature {
    proto::TfrecordFeature spec;
    size_t parsed = 0;                                  // The index in the parser's list.
    std::optional<ElementType> raw;                     // The type of raw elements.
    std::optional<ImageTarget> image;                   // What an image file becomes.
    std::unordered_map<std::string_view, int32_t> ids;  // By name; of the vocabulary in `spec`.
    const LabelSpec* label = nullptr;                   // Null for a feature.
    std::string taker;                                  // Of the label, for messages.
    int target = 0;
    nn::Shape shape;
    int64_t count = 0;  // The number of values.
    int64_t place = 0;  // Of the first value, in the target's row.
  };
  struct Target {
    std::string name;  // "input 'in'", for messages.
    nn::Shape wanted;  // The model's, for an input.
    nn::Shape shape;
    ElementType type = ElementType::kFloat32;
    int64_t elements = 0;
    int64_t row_bytes = 0;
    std::vector<int> features;
  };
  using Rows = std::vector<std::string>;  // By target.

  void AddFeature(const proto::TfrecordFeature& spec, int target,
                  std::vector<ExampleParser::Wanted>* wanted);
  void Finish(Target* target);

  // Append a record's rows. InvalidArgument: the reason why it has none.
  absl::Status Encode(std::string_view record, std::vector<FeatureValues>* values,
                      Rows* rows) const;
  absl::Status EncodeFeature(const Feature& feature, const FeatureValues& values,
                             std::string_view record, char* row) const;
  absl::Status EncodeNames(const Feature& feature, const FeatureValues& values, char* at) const;
  absl::Status EncodeRaw(const Feature& feature, const FeatureValues& values, char* at) const;
  absl::Status EncodeImage(const Feature& feature, const FeatureValues& values, char* at) const;
  // Stores a value of the target's type.
  template <typename T>
  absl::Status Store(const Feature& feature, T value, char* at) const;
  template <typename T>
  absl::Status StoreAll(const Feature& feature, const std::vector<T>& values, char* at) const;
  absl::Status CheckCount(const Feature& feature, const FeatureValues& values) const;

  const proto::DataSource source_;
  const std::vector<LabelSpec> labels_;
  const int inputs_;
  const double scale_;
  std::vector<Target> targets_;
  std::vector<std::unique_ptr<Feature>> features_;
  std::unique_ptr<const ExampleParser> parser_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_TFRECORD_TFRECORD_ENCODER_H_
