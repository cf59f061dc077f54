#ifndef CAIRN_JOB_DATA_FORMATS_DATA_FEATURES_H_
#define CAIRN_JOB_DATA_FORMATS_DATA_FEATURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "google/protobuf/repeated_field.h"
#include "job/data_formats/data_format.h"
#include "nn/signature.h"
#include "proto/job.pb.h"

namespace cairn::job {

// The rules of formats whose examples have named features: records of tf.train.Example, and rows of
// tables. All errors start with the path of the field in the job file.

using DataFeatures = google::protobuf::RepeatedPtrField<proto::DataFeature>;

// What a format's features are.
struct FeatureKind {
  const char* name = "feature";  // For messages.
  bool is_column = false;        // Of a table.
};

// Checks everything that does not depend on the model. `path` is the path of the format's field.
absl::Status CheckDataFeatures(const std::string& path, const DataFeatures& features,
                               const DataFeatures& labels, const DataNeeds& needs,
                               const FeatureKind& kind);

// Checks that each input and output of the model has features, and each feature one of them.
absl::Status CheckFeaturesFit(const std::string& path, const DataFeatures& features,
                              const DataFeatures& labels, const nn::Signature& model,
                              const FeatureKind& kind);

// True if the feature's values are names that are replaced by ids.
bool HasNames(const proto::DataFeature& feature);

// Whether the job file lacks its names or tokens: they are those of the training data.
bool HasOpenVocabulary(const proto::DataFeature& feature);

// Those whose vocabulary is open, in the order of the features and then of the labels.
std::vector<OpenColumn> OpenFeatures(const DataFeatures& features, const DataFeatures& labels,
                                     const FeatureKind& kind);

// Checks how a text is divided into tokens. `path` is the path of "text_vectorization".
absl::Status CheckTextVectorization(const std::string& path, const proto::TextVectorization& spec);

// The most tokens of a vocabulary.
int64_t VocabularyMost(const proto::TextVectorization& spec);

// The names of such a feature, or the tokens of a text, in the order of their ids.
std::vector<std::string> VocabularyOf(const proto::DataFeature& feature,
                                      const proto::DataPlan& plan);

}  // namespace cairn::job

#endif  // CAIRN_JOB_DATA_FORMATS_DATA_FEATURES_H_
