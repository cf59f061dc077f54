#include "worker/data/tfrecord/record_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/formats/crc32c.h"
#include "worker/data/files/read_at.h"

namespace cairn::worker {
namespace {

// A record: its length, the checksum of the length, the bytes, and their checksum.
constexpr size_t kLengthBytes = 8;
constexpr size_t kChecksumBytes = 4;
constexpr size_t kHeadBytes = kLengthBytes + kChecksumBytes;
// Read at a time.
constexpr size_t kChunkBytes = size_t{1} << 20;

template <typename T>
T Load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

bool IsSound(std::string_view bytes, const char* checksum) {
  return nn::MaskedCrc(nn::Crc32c(bytes)) == Load<uint32_t>(checksum);
}

// `head` is the beginning of a file. The first two bytes of a plain file can be those of gzip, so
// the checksum of the first length decides.
Compression CompressionOf(std::string_view head) {
  if (head.size() == kHeadBytes &&
      IsSound(head.substr(0, kLengthBytes), head.data() + kLengthBytes)) {
    return Compression::kNone;
  }
  if (head.size() < 2) return Compression::kNone;
  const int first = static_cast<unsigned char>(head[0]);
  const int second = static_cast<unsigned char>(head[1]);
  if (first == 0x1f && second == 0x8b) return Compression::kGzip;
  // RFC 1950: method 8, a window of at most 32 KiB, and a check of both bytes.
  const bool is_zlib = (first & 15) == 8 && first >> 4 <= 7 && (first * 256 + second) % 31 == 0;
  return is_zlib ? Compression::kZlib : Compression::kNone;
}

absl::StatusOr<Compression> Detect(const std::string& path) {
  CAIRN_ASSIGN_OR_RETURN(const int descriptor, OpenDataFile(path, /*may_be_empty=*/true));
  std::string head(kHeadBytes, '\0');
  const absl::StatusOr<size_t> got = ReadAt(descriptor, 0, head.size(), head.data(), path);
  close(descriptor);
  CAIRN_RETURN_IF_ERROR(got.status());
  head.resize(*got);
  return CompressionOf(head);
}

}  // namespace

RecordReader::RecordReader(std::unique_ptr<FileReader> file) : file_(std::move(file)) {}

absl::StatusOr<std::unique_ptr<RecordReader>> RecordReader::Open(const std::string& path) {
  CAIRN_ASSIGN_OR_RETURN(const Compression compression, Detect(path));
  CAIRN_ASSIGN_OR_RETURN(std::unique_ptr<FileReader> file, FileReader::Open(path, compression));
  return std::unique_ptr<RecordReader>(new RecordReader(std::move(file)));
}

absl::Status RecordReader::Fill(size_t bytes) {
  if (available() >= bytes || at_end_) return absl::OkStatus();
  buffer_.erase(0, position_);
  position_ = 0;
  const size_t wanted = std::max(bytes - buffer_.size(), kChunkBytes);
  const size_t before = buffer_.size();
  CAIRN_RETURN_IF_ERROR(file_->Read(wanted, &buffer_));
  at_end_ = buffer_.size() - before < wanted;
  return absl::OkStatus();
}

absl::StatusOr<bool> RecordReader::Next(Record* record) {
  record->bytes = {};
  record->number = number_;
  record->offset = offset_;
  record->damage.clear();
  CAIRN_RETURN_IF_ERROR(Fill(kHeadBytes));
  if (available() == 0) return false;
  ++number_;
  const auto cut_off = [&](uint64_t wanted) {
    record->damage =
        absl::StrCat("it is cut off: ", available(), " bytes of ", wanted, " before the file ends");
    offset_ += available();
    position_ = buffer_.size();
    return true;
  };
  const char* head = buffer_.data() + position_;
  const bool has_head = available() >= kHeadBytes;
  if (!has_head && number_ > 1) return cut_off(kHeadBytes);
  if (!has_head || !IsSound({head, kLengthBytes}, head + kLengthBytes)) {
    return absl::InvalidArgumentError(absl::StrCat(
        Place(*record), ": the checksum of its length is wrong: ",
        number_ == 1 ? "not a TFRecord file, or damaged"
                     : "the file is damaged, and the records after it cannot be found"));
  }
  const auto length = Load<uint64_t>(head);
  if (length > kRecordBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        Place(*record), ": it has ", length, " bytes, at most ", kRecordBytesMax, " are read"));
  }
  const size_t whole = kHeadBytes + length + kChecksumBytes;
  CAIRN_RETURN_IF_ERROR(Fill(whole));
  if (available() < whole) return cut_off(whole);
  record->bytes = std::string_view(buffer_.data() + position_ + kHeadBytes, length);
  if (!IsSound(record->bytes, record->bytes.data() + length)) {
    record->bytes = {};
    record->damage = "its checksum is wrong: the file is damaged";
  }
  position_ += whole;
  offset_ += whole;
  return true;
}

std::string RecordReader::Place(const Record& record) const {
  return absl::StrCat("data file ", file_->path(), ", record ", record.number, " at byte ",
                      record.offset);
}

}  // namespace cairn::worker
