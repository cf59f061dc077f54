#ifndef CAIRN_WORKER_DATA_FEATURES_FEATURE_ENCODER_H_
#define CAIRN_WORKER_DATA_FEATURES_FEATURE_ENCODER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/repeated_field.h"
#include "nn/layers/string_lookup.h"
#include "nn/signature.h"
#include "proto/job.pb.h"
#include "worker/data/array.h"
#include "worker/data/encoded_rows.h"
#include "worker/data/features/feature_hash.h"
#include "worker/data/features/feature_values.h"
#include "worker/data/features/text_vectorizer.h"
#include "worker/data/files/data_storage.h"
#include "worker/data/files/file_bytes.h"
#include "worker/data/files/spool.h"
#include "worker/data/images/resize_image.h"
#include "worker/data/label_spec.h"

namespace cairn::worker {

using FeatureSpecs = google::protobuf::RepeatedPtrField<proto::DataFeature>;

// Encodes examples as rows of numbers: for each target (an input of the model, or the labels of an
// output; inputs come first) the values of its features, one after the other. They become float32,
// or int32 if the target takes whole numbers. A target whose only feature holds raw elements of at
// most 16 bits keeps their type. Checks all values. Immutable, thread-safe.
//
//   FeatureEncoder::Collector rows(&encoder, path, storage);
//   rows.Add(values, {});  // For each example.
//   rows.Finish();
class FeatureEncoder {
 public:
  // What a format calls its features in messages.
  struct Words {
    const char* feature = "feature";
    const char* missing = "is missing";
    const char* missing_advice = "if records may lack it";
    // What names are stored as.
    const char* names = "bytes";
    const char* bytes_advice =
        "set \"vocabulary\" if they are names, \"decode\": \"image\" if they are a JPEG or PNG "
        "file, or \"decode\": \"raw\" and \"dtype\" if they are a tensor";
  };

  // `features` and `labels` describe features of `source`, whose other fields say how values are
  // preprocessed. `plan` has the vocabularies that they do not list. `label_specs` has the valid
  // labels of each output; if it is empty, there are no targets of labels.
  FeatureEncoder(const FeatureSpecs& features, const FeatureSpecs& labels,
                 const proto::DataSource& source, const proto::DataPlan& plan,
                 const nn::Signature& model, const std::vector<LabelSpec>& label_specs,
                 Words words);
  FeatureEncoder(const FeatureEncoder&) = delete;
  FeatureEncoder& operator=(const FeatureEncoder&) = delete;

  // InvalidArgument: the features of a target have too many or too few values, or are filled with
  // what "pad" does not say. Uses the losses of the labels, which need not outlive it.
  absl::Status CheckShapes() const;

  EncodedLayouts layouts() const;

  // What an example must have, in the order of its FeatureValues. A name appears once for each way
  // in which its values are used.
  struct Wanted {
    std::string name;
    int64_t most = 0;       // The most values that are used.
    bool is_names = false;  // The values are names.
    bool is_file = false;   // Bytes that are decoded.
    nn::Shape shape = {};   // Of the values, if it has two dimensions or more.
  };
  const std::vector<Wanted>& wanted() const { return wanted_; }

  // Collects the rows of examples. Not thread-safe.
  class Collector {
   public:
    // `path` names the file in messages. The others must outlive it.
    Collector(const FeatureEncoder* encoder, const std::string& path, DataStorage* storage);

    // Appends an example, whose values are in the order of wanted(). InvalidArgument: the reason
    // why it has no rows; nothing is appended. `names`, if any, returns the names of the features
    // that it has, for messages. Other errors as Spool.
    absl::Status Add(const std::vector<FeatureValues>& values,
                     const std::function<std::vector<std::string>()>& names);
    // Appends zeros for a row for which a filter is not true, after `passed` that are. Only if the
    // filters of the source need all rows. Errors as Spool.
    absl::Status AddLeftOut(int passed);
    // Those that were left out, too.
    int64_t examples() const { return examples_; }
    absl::StatusOr<EncodedFile> Finish();

   private:
    // Ends an example: stores the number of filters that are true for it, if it is wanted.
    absl::Status End(int passed);

    const FeatureEncoder* const encoder_;
    // By target; SourceArrays::passed is the last one.
    std::vector<std::unique_ptr<Spool>> spools_;
    std::vector<std::string> rows_;
    int64_t examples_ = 0;
  };

 private:
  struct Feature {
    proto::DataFeature spec;
    size_t wanted = 0;                                  // The index in wanted_.
    std::optional<ElementType> raw;                     // The type of raw elements.
    bool is_tensor = false;                             // They are those of a serialized tensor.
    std::optional<ImageTarget> image;                   // What an image file becomes.
    std::vector<std::string> names;                     // The vocabulary.
    std::unordered_map<std::string_view, int32_t> ids;  // By name.
    bool is_names = false;                              // Values are names, which have ids.
    int32_t first_id = 0;                               // Of the vocabulary.
    std::optional<int32_t> unknown_id;                  // Of all other names.
    std::optional<FeatureHash> hash;                    // Of values without a vocabulary.
    std::optional<TextVectorizer> vectorizer;           // Of a text, whose tokens have the ids.
    const LabelSpec* label = nullptr;                   // Null for a feature.
    std::string taker;                                  // Of the label, for messages.
    int target = 0;
    nn::Shape shape;
    int64_t count = 0;  // The number of values.
    int64_t width = 1;  // The number of elements that a value becomes.
    int64_t place = 0;  // Of the first element, in the target's row.
  };
  struct Target {
    std::string name;  // "input 'in'", for messages.
    // The rows of an input, unless the pipeline changes their shape.
    std::optional<nn::Shape> wanted;
    nn::Shape shape;
    ElementType type = ElementType::kFloat32;
    int64_t elements = 0;
    int64_t row_bytes = 0;
    std::vector<int> features;
  };
  using Rows = std::vector<std::string>;  // By target.

  template <typename... Parts>
  absl::Status Wrong(const proto::DataFeature& feature, const Parts&... parts) const;
  void AddFeature(const proto::DataFeature& spec, const proto::DataPlan& plan, int target,
                  const nn::StringLookupLayer* lookup);
  void Finish(Target* target);

  // Append an example's rows, also if it is invalid.
  absl::Status Encode(const std::vector<FeatureValues>& values,
                      const std::function<std::vector<std::string>()>& names, Rows* rows) const;
  absl::Status EncodeFeature(const Feature& feature, const FeatureValues& values,
                             const std::function<std::vector<std::string>()>& names,
                             char* row) const;
  // The values with the feature's default in place of nulls, of which there are some.
  absl::StatusOr<FeatureValues> Filled(const Feature& feature, FeatureValues values) const;
  absl::Status EncodeMissing(const Feature& feature,
                             const std::function<std::vector<std::string>()>& names,
                             char* at) const;
  absl::Status EncodeName(const Feature& feature, std::string_view name, char* at) const;
  absl::Status StoreId(const Feature& feature, int64_t id, char* at) const;
  absl::Status EncodeText(const Feature& feature, std::string_view text, char* at) const;
  absl::Status EncodeRaw(const Feature& feature, const FeatureValues& values, char* at) const;
  absl::Status EncodeImage(const Feature& feature, const FeatureValues& values, char* at) const;
  // Stores a value of the target's type.
  template <typename T>
  absl::Status Store(const Feature& feature, T value, char* at) const;
  template <typename T>
  absl::Status StoreAll(const Feature& feature, const std::vector<T>& values, char* at) const;
  absl::Status CheckCount(const Feature& feature, const FeatureValues& values) const;

  const std::vector<LabelSpec> labels_;
  const int inputs_;
  const double scale_;
  const bool allow_nan_;
  const Words words_;
  const bool has_passed_;
  const int filters_;     // Of the pipeline.
  absl::Status padding_;  // Whether the pipeline's "pad" can be stored.
  std::vector<Target> targets_;
  std::vector<std::unique_ptr<Feature>> features_;
  std::vector<Wanted> wanted_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_FEATURES_FEATURE_ENCODER_H_
