#include "worker/data/tfrecord/tfrecord_source.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/plural.h"
#include "common/status_macros.h"
#include "worker/data/features/deferred_rows.h"
#include "worker/data/files/load_file.h"
#include "worker/data/row_condition.h"
#include "worker/data/tfrecord/tfrecord_encoder.h"

namespace cairn::worker {
namespace {

absl::Status AddAll(const TfrecordEncoder& encoder, const ReadRequest& request, SourceArrays* all) {
  const std::vector<std::string>& paths = request.files.features[0];
  using File = TfrecordEncoder::File;
  CAIRN_ASSIGN_OR_RETURN(const std::vector<File> files,
                         ReadAll<File>(paths, [&](const std::string& path) {
                           return encoder.ReadFile(path, request.storage);
                         }));
  DamageList list;
  for (size_t i = 0; i < files.size(); ++i) {
    const File& file = files[i];
    list.Add(file.damaged, file.examples);
    CAIRN_RETURN_IF_ERROR(AddRows(encoder, file.rows, file.examples, all));
    proto::IndexedFile& entry = all->index.emplace_back();
    entry.set_examples(file.examples);
    CAIRN_ASSIGN_OR_RETURN(const uint64_t bytes, FileSize(paths[i]));
    entry.set_bytes(bytes);
  }
  const proto::DamagedRecords& damaged = all->damaged = list.records();
  if (damaged.count() <= request.source.skip_damaged()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(Plural(damaged.count(), "damaged record"), ", \"skip_damaged\" allows ",
                   request.source.skip_damaged(), "; the first: ", damaged.first_error()));
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
  SourceArrays found = ArraysOf(*encoder);
  CAIRN_RETURN_IF_ERROR(AddAll(*encoder, request, &found));
  return found;
}

absl::StatusOr<SourceArrays> ReadTfrecord(const ReadRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const auto encoder, EncoderOf(request));
  SourceArrays result = ArraysOf(*encoder);
  const std::vector<std::string>& files = request.files.features[0];
  if (!IsIndexed(request.planned, files.size())) {
    CAIRN_RETURN_IF_ERROR(AddAll(*encoder, request, &result));
    return result;
  }
  const PlannedFiles& planned = *request.planned;
  for (size_t i = 0; i < files.size(); ++i) {
    CAIRN_RETURN_IF_ERROR(
        AddDeferredRows(encoder,
                        {files[i], planned.index[i].examples(), planned.fingerprints[i],
                         [encoder, path = files[i], storage = planned.storage] {
                           return encoder->ReadFile(path, storage.get());
                         }},
                        &result));
  }
  return result;
}

}  // namespace cairn::worker
