#ifndef CAIRN_JOB_VALUE_STEPS_H_
#define CAIRN_JOB_VALUE_STEPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/layers/resize_method.h"
#include "nn/signature.h"
#include "nn/tensor.h"
#include "proto/job.pb.h"

namespace cairn::job {

// The rules of the steps of a pipeline that change the values of an input. What the steps compute
// is in worker/data/value_pipeline.h.

// Check a step's own fields. `path` is the path of its field: "train.pipeline[0].cast".
// InvalidArgument starts with the path of the field.
absl::Status CheckCast(const std::string& path, const proto::PipelineStep& step);
absl::Status CheckNormalize(const std::string& path, const proto::PipelineStep& step);
absl::Status CheckOneHot(const std::string& path, const proto::PipelineStep& step);
absl::Status CheckHash(const std::string& path, const proto::PipelineStep& step);
absl::Status CheckVocabulary(const std::string& path, const proto::PipelineStep& step);
absl::Status CheckPad(const std::string& path, const proto::PipelineStep& step);
absl::Status CheckResize(const std::string& path, const proto::PipelineStep& step);
absl::Status CheckCrop(const std::string& path, const proto::PipelineStep& step);
absl::Status CheckFlip(const std::string& path, const proto::PipelineStep& step);

// As CheckHash, for any user of this message. `masks_text`: mask_value is a text, not a number.
absl::Status CheckHashing(const std::string& path, const proto::Hashing& hash, bool masks_text);

// Checks that the steps name inputs of the model. `path` is the path of the source.
absl::Status CheckValueStepsFitModel(const std::string& path, const proto::DataSource& source,
                                     const nn::Signature& model);

// As CheckResize, of the field `interpolation` of any user.
absl::Status CheckInterpolation(const std::string& path, const std::string& interpolation);
// `interpolation` is valid, or empty for the default.
nn::ResizeMethod ResizeMethodOf(const std::string& interpolation);

bool ChangesValues(const proto::PipelineStep& step);
// Whether the step draws random numbers in training.
bool IsRandom(const proto::PipelineStep& step);
// Whether the step takes whole numbers only.
bool TakesWholes(const proto::PipelineStep& step);
// Whether the step normalizes by the statistics of the training data.
bool IsMeasured(const proto::PipelineStep& step);

// The steps that change the values of an input of the model, in their order. They point into the
// source.
std::vector<const proto::PipelineStep*> ValueStepsOf(const proto::DataSource& source,
                                                     const nn::Signature& model, int input);

// The shape of an example after the step. `leading`: the number of axes before those of a row (1
// for windows). InvalidArgument: the step is not for examples of this shape.
absl::StatusOr<nn::Shape> ShapeAfter(const proto::PipelineStep& step, nn::Shape shape, int leading);

// What the job file says about the rows of an input in the files, before windows and other steps:
// their shape, which is unknown if a step changes it, and whether they are whole numbers.
std::optional<nn::Shape> RowShape(const proto::DataSource& source, const nn::Signature& model,
                                  int input);
proto::DataType RowType(const proto::DataSource& source, const nn::Signature& model, int input);

// Height and width of the images that a source of images decodes. InvalidArgument, without a path:
// the job file does not say them.
struct DecodedSize {
  int64_t height = 0;
  int64_t width = 0;
  nn::ResizeMethod method = nn::ResizeMethod::kBilinear;
  bool crops = false;  // To keep the aspect ratio.
  bool pads = false;
};
absl::StatusOr<DecodedSize> DecodedSizeOf(const proto::DataSource& source,
                                          const nn::Signature& model);

}  // namespace cairn::job

#endif  // CAIRN_JOB_VALUE_STEPS_H_
