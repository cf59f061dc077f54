#include "worker/data/cifar_file.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/data/array_search.h"
#include "worker/data/files/load_file.h"

namespace cairn::worker {
namespace {

constexpr int64_t kImageBytes = 32 * 32 * 3;

absl::StatusOr<SourceArrays> ReadCifar(const ReadRequest& request, const CifarKind& kind) {
  CAIRN_ASSIGN_OR_RETURN(
      const std::vector<CifarArrays> arrays,
      ReadAll<CifarArrays>(request.files.features[0],
                           [&](const std::string& path) -> absl::StatusOr<CifarArrays> {
                             CAIRN_ASSIGN_OR_RETURN(auto file, LoadFile(path, request.storage));
                             return ReadCifarFile(std::move(file), kind);
                           }));
  SourceArrays result;
  result.inputs.resize(1);
  result.labels.resize(1);
  for (const CifarArrays& one : arrays) {
    CAIRN_RETURN_IF_ERROR(Join(one.images, &result.inputs[0]));
    CAIRN_RETURN_IF_ERROR(Join(one.labels, &result.labels[0]));
  }
  return result;
}

}  // namespace

absl::StatusOr<CifarArrays> ReadCifarFile(std::shared_ptr<const FileBytes> file,
                                          const CifarKind& kind) {
  const int64_t stride = kind.label_bytes + kImageBytes;
  const int64_t rows = static_cast<int64_t>(file->size()) / stride;
  const int64_t rest = static_cast<int64_t>(file->size()) % stride;
  if (rest != 0 || rows == 0) {
    return file->Malformed(
        absl::StrCat("not ", kind.name, "'s binary format, or cut off: ", file->size(),
                     " bytes are ", rows, " examples of ", stride, " bytes and ", rest, " more"));
  }
  // Images and labels are two views of the same records.
  Array::Layout images;
  images.type = ElementType::kUint8;
  images.row_shape = {32, 32, 3};
  images.offset = kind.label_bytes;
  images.stride = stride;
  images.planes = true;
  Array::Layout labels;
  labels.type = ElementType::kUint8;
  labels.offset = kind.label;
  labels.stride = stride;
  CifarArrays arrays{Array(file, rows, images), Array(file, rows, labels)};
  CAIRN_ASSIGN_OR_RETURN(const std::optional<InvalidElement> wrong,
                         FindOutside(arrays.labels, 0, kind.classes - 1));
  if (!wrong) return arrays;
  return file->Malformed(absl::StrCat("not ", kind.name, "'s binary format: row ", wrong->row,
                                      " has label ", wrong->value, ", labels are below ",
                                      kind.classes));
}

absl::StatusOr<SourceArrays> ReadCifar10(const ReadRequest& request) {
  return ReadCifar(request, kCifar10);
}

absl::StatusOr<SourceArrays> ReadCifar100(const ReadRequest& request) {
  const bool coarse = request.source.cifar100().labels() == "coarse";
  return ReadCifar(request, coarse ? kCifar100Coarse : kCifar100Fine);
}

}  // namespace cairn::worker
