#include "worker/data/tfrecord/tfrecord_source.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "worker/data/encoded_rows.h"
#include "worker/data/row_condition.h"
#include "worker/data/tfrecord/tfrecord_encoder.h"

namespace cairn::worker {
namespace {

absl::Status AddAll(const TfrecordEncoder& encoder, const ReadRequest& request, SourceArrays* all) {
  const std::vector<std::string>& paths = request.files.features[0];
  CAIRN_ASSIGN_OR_RETURN(const std::vector<EncodedFile> files,
                         ReadAll<EncodedFile>(paths, [&](const std::string& path) {
                           return encoder.ReadFile(path, request.storage);
                         }));
  CAIRN_RETURN_IF_ERROR(AddInspectedFiles(encoder.layouts(), paths, files, all));
  return CheckDamage(all->damaged, request.source.skip_damaged());
}

absl::StatusOr<std::shared_ptr<const TfrecordEncoder>> EncoderOf(const ReadRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(auto condition, RowCondition::Of(request.source));
  auto encoder = std::make_shared<const TfrecordEncoder>(request.source, request.model,
                                                         request.label_specs, std::move(condition));
  CAIRN_RETURN_IF_ERROR(encoder->CheckShapes());
  return encoder;
}

}  // namespace

absl::StatusOr<SourceArrays> SurveyTfrecord(const ReadRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const auto encoder, EncoderOf(request));
  SourceArrays found = ArraysOf(encoder->layouts());
  CAIRN_RETURN_IF_ERROR(AddAll(*encoder, request, &found));
  return found;
}

absl::StatusOr<SourceArrays> ReadTfrecord(const ReadRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const auto encoder, EncoderOf(request));
  SourceArrays result = ArraysOf(encoder->layouts());
  const std::vector<std::string>& files = request.files.features[0];
  if (!IsIndexed(request.planned, files.size())) {
    CAIRN_RETURN_IF_ERROR(AddAll(*encoder, request, &result));
    return result;
  }
  const auto read = [encoder, storage = request.planned->storage](const std::string& path) {
    return encoder->ReadFile(path, storage.get());
  };
  CAIRN_RETURN_IF_ERROR(
      AddDeferredFiles(encoder->layouts(), files, *request.planned, read, &result));
  return result;
}

}  // namespace cairn::worker
