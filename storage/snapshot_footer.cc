#include "storage/snapshot_footer.h"

#include <rocksdb/table.h>
#include <xxhash.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace cairn::storage {
namespace {

constexpr size_t kVersionBegin = 41;
constexpr std::string_view kVersionAndMagic("\x05\0\0\0\xf7\xcf\xf4\x85\xb7\x41\xe2\x88", 12);
// The compression type and the checksum that follow each block.
constexpr uint64_t kBlockTrailerBytes = 5;

// Decodes a varint, which RocksDB encodes as protobuf does.
std::optional<uint64_t> TakeVarint(std::string_view* bytes) {
  uint64_t number = 0;
  for (int shift = 0; shift < 64 && !bytes->empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes->front());
    bytes->remove_prefix(1);
    number |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return number;
  }
  return std::nullopt;
}

// Decodes a block handle. Returns the location of the block and its trailer, or nullopt if it is
// not inside the file.
std::optional<ByteRange> TakeBlockHandle(uint64_t file_bytes, std::string_view* bytes) {
  const std::optional<uint64_t> offset = TakeVarint(bytes);
  const std::optional<uint64_t> size = TakeVarint(bytes);
  const uint64_t end = file_bytes - kSnapshotFooterBytes;
  if (!offset.has_value() || !size.has_value() || *offset > end || *size > end - *offset ||
      kBlockTrailerBytes > end - *offset - *size) {
    return std::nullopt;
  }
  return ByteRange{*offset, *size + kBlockTrailerBytes};
}

// RocksDB's checksum kXXH3 (ComputeBuiltinChecksumWithLastByte in table/format.cc).
uint32_t Checksum(std::string_view bytes) {
  constexpr uint32_t kPrime = 0x6b9083d9;
  const auto last = static_cast<unsigned char>(bytes.back());
  return static_cast<uint32_t>(XXH3_64bits(bytes.data(), bytes.size() - 1)) ^ (last * kPrime);
}

uint32_t LittleEndian(std::string_view bytes) {
  uint32_t number = 0;
  for (int i = 3; i >= 0; --i) number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

}  // namespace

absl::StatusOr<ByteRange> CheckSnapshotFooter(std::string_view footer, uint64_t file_bytes) {
  if (footer.size() != kSnapshotFooterBytes || file_bytes < kSnapshotFooterBytes) {
    return absl::DataLossError(absl::StrCat("its size is only ", file_bytes, " bytes"));
  }
  if (footer.substr(kVersionBegin) != kVersionAndMagic) {
    return absl::DataLossError("it does not end with the footer of a table file");
  }
  if (footer[0] != static_cast<char>(rocksdb::kXXH3)) {
    return absl::DataLossError(absl::StrCat("its checksum type is ", static_cast<int>(footer[0]),
                                            " instead of ", static_cast<int>(rocksdb::kXXH3)));
  }
  std::string_view handles = footer.substr(1, kVersionBegin - 1);
  const std::optional<ByteRange> meta_index = TakeBlockHandle(file_bytes, &handles);
  const std::optional<ByteRange> index = TakeBlockHandle(file_bytes, &handles);
  if (!meta_index || !index) return absl::DataLossError("its footer points outside of the file");
  const uint64_t begin = index->offset + index->bytes;
  if (begin > meta_index->offset || meta_index->offset - begin > kSnapshotPropertiesBytesMax) {
    return absl::DataLossError("its footer leaves no room for the table properties");
  }
  return ByteRange{begin, meta_index->offset - begin};
}

absl::Status CheckSnapshotProperties(std::string_view properties) {
  constexpr size_t kChecksumBytes = sizeof(uint32_t);
  if (properties.size() > kBlockTrailerBytes &&
      Checksum(properties.substr(0, properties.size() - kChecksumBytes)) ==
          LittleEndian(properties.substr(properties.size() - kChecksumBytes))) {
    return absl::OkStatus();
  }
  return absl::DataLossError("the table properties do not match their checksum");
}

}  // namespace cairn::storage
