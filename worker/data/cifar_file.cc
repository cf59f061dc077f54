#include "worker/data/cifar_file.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/data/array_search.h"

namespace cairn::worker {
namespace {

constexpr int64_t kImageBytes = 32 * 32 * 3;

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
  CAIRN_ASSIGN_OR_RETURN(const std::optional<FoundElement> wrong,
                         FindOutside(arrays.labels, 0, kind.classes - 1));
  if (!wrong) return arrays;
  return file->Malformed(absl::StrCat("not ", kind.name, "'s binary format: row ", wrong->row,
                                      " has label ", wrong->value, ", labels are below ",
                                      kind.classes));
}

}  // namespace cairn::worker
