// TensorFlow checkpoints. The input is the block of an index with keys and values; its checksum and
// the rest of the table are made here, or else no change would pass the checksums. The data file is
// 64 zero bytes.

#include <cstdint>
#include <string>

#include "common/check.h"
#include "nn/formats/crc32c.h"
#include "nn/formats/tensor_bundle.h"
#include "tests/fuzz/fuzz_target.h"

namespace cairn::fuzz {
namespace {

constexpr size_t kDataBytes = 64;

std::string Finished(std::string block) {
  block.push_back(0);
  const uint32_t crc = nn::MaskedCrc(nn::Crc32c(block));
  return block.append(reinterpret_cast<const char*>(&crc), sizeof(crc));
}

void AppendVarint(std::string* bytes, size_t number) {
  for (; number >= 128; number >>= 7) bytes->push_back(static_cast<char>(number | 128));
  bytes->push_back(static_cast<char>(number));
}

std::string Place(size_t offset, size_t size) {
  std::string place;
  AppendVarint(&place, offset);
  AppendVarint(&place, size);
  return place;
}

std::string TableOf(std::string_view block) {
  std::string file = Finished(std::string(block));
  const std::string place = Place(0, block.size());
  std::string index("\0\1", 2);
  AppendVarint(&index, place.size());
  index += "z" + place + std::string("\0\0\0\0\1\0\0\0", 8);
  std::string footer = Place(0, 0) + Place(file.size(), index.size());
  footer.resize(40);
  return file + Finished(index) + footer + "\x57\xfb\x80\x8b\x24\x75\x47\xdb";
}

}  // namespace

bool RunInput(std::string_view input) {
  const std::string index = TableOf(input);
  CAIRN_CHECK(nn::IsTensorBundle(index));
  // The whole file too, whose checksums are mostly wrong.
  (void)nn::TensorBundleFiles(input, "w.index");
  const auto files = nn::TensorBundleFiles(index, "w.index");
  if (!files.ok()) {
    CAIRN_CHECK(absl::IsInvalidArgument(files.status()));
    return false;
  }
  const auto model = nn::ReadTensorBundle(
      index, std::vector<std::string>(files->size(), std::string(kDataBytes, '\0')));
  if (!model.ok()) {
    CAIRN_CHECK(absl::IsInvalidArgument(model.status()));
    return false;
  }
  size_t values = 0;
  for (const nn::NamedTensor& tensor : model->weights) {
    CAIRN_CHECK(nn::CheckFilled(tensor).ok());
    values += tensor.values.size();
  }
  CAIRN_CHECK(values <= files->size() * kDataBytes / 2);
  return true;
}

}  // namespace cairn::fuzz
