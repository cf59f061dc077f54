#include "storage/snapshot_format.h"

#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <concepts>

#include "absl/strings/str_cat.h"

namespace cairn::storage {
namespace {

constexpr char kBlockTag = 0;
constexpr char kIndexTag = 1;
constexpr size_t kEntryBytes = 4 + 8 + 8;
constexpr size_t kChecksumBytes = 8;
constexpr size_t kRecordPrefixBytes = kChecksumBytes + 4;
constexpr std::string_view kJobPart = "job-";
constexpr std::string_view kCheckpointPart = ".checkpoint-";
constexpr std::string_view kCopyPart = ".copy-of-ps-";
constexpr std::string_view kSuffix = ".sst";

uint64_t Checksum(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

template <std::unsigned_integral Number>
void AppendBigEndian(Number number, std::string* out) {
  for (int shift = 8 * (sizeof(number) - 1); shift >= 0; shift -= 8) {
    out->push_back(static_cast<char>(number >> shift));
  }
}

template <std::unsigned_integral Number>
void AppendLittleEndian(Number number, std::string* out) {
  for (size_t i = 0; i < sizeof(number); ++i) out->push_back(static_cast<char>(number >> (8 * i)));
}

// Removes a number from the front of `bytes`, which must be long enough.
template <std::unsigned_integral Number>
Number TakeLittleEndian(std::string_view* bytes) {
  Number number = 0;
  for (size_t i = 0; i < sizeof(number); ++i) {
    number |= static_cast<Number>(static_cast<unsigned char>((*bytes)[i])) << (8 * i);
  }
  bytes->remove_prefix(sizeof(number));
  return number;
}

bool TakeText(std::string_view text, std::string_view* rest) {
  if (!rest->starts_with(text)) return false;
  rest->remove_prefix(text.size());
  return true;
}

template <std::unsigned_integral Number>
bool TakeDecimal(std::string_view* rest, Number* number) {
  const auto result = std::from_chars(rest->data(), rest->data() + rest->size(), *number);
  if (result.ec != std::errc()) return false;
  rest->remove_prefix(result.ptr - rest->data());
  return true;
}

std::string KeyPrefix(const SnapshotName& name, char tag) {
  std::string key;
  AppendBigEndian(name.job_id, &key);
  AppendBigEndian(name.checkpoint, &key);
  key.push_back(tag);
  return key;
}

std::string EncodeEntries(const std::vector<SnapshotIndex::Entry>& entries) {
  std::string bytes;
  bytes.reserve(entries.size() * kEntryBytes + kChecksumBytes);
  for (const SnapshotIndex::Entry& entry : entries) {
    AppendLittleEndian(entry.block_id, &bytes);
    AppendLittleEndian(entry.bytes, &bytes);
    AppendLittleEndian(entry.checksum, &bytes);
  }
  return bytes;
}

}  // namespace

std::string DescribeSnapshot(const SnapshotName& name) {
  std::string text = absl::StrCat("job ", name.job_id, ", checkpoint ", name.checkpoint);
  if (name.copy_of.has_value()) absl::StrAppend(&text, ", copy of ps ", *name.copy_of, "'s");
  return text;
}

std::string SnapshotFileName(const SnapshotName& name) {
  std::string file = absl::StrCat("job-", name.job_id, ".checkpoint-", name.checkpoint);
  if (name.copy_of.has_value()) absl::StrAppend(&file, std::string(kCopyPart), *name.copy_of);
  return file + ".sst";
}

bool ParseSnapshotFileName(std::string_view file, SnapshotName* name) {
  SnapshotName parsed;
  std::string_view rest = file;
  if (!TakeText(kJobPart, &rest) || !TakeDecimal(&rest, &parsed.job_id) ||
      !TakeText(kCheckpointPart, &rest) || !TakeDecimal(&rest, &parsed.checkpoint)) {
    return false;
  }
  if (TakeText(kCopyPart, &rest) && !TakeDecimal(&rest, &parsed.copy_of.emplace())) return false;
  // Reject leading zeros, which would give a snapshot two names.
  if (rest != kSuffix || file != SnapshotFileName(parsed)) return false;
  *name = parsed;
  return true;
}

std::string BlockKey(const SnapshotName& name, uint32_t block_id) {
  std::string key = KeyPrefix(name, kBlockTag);
  AppendBigEndian(block_id, &key);
  return key;
}

std::string IndexKey(const SnapshotName& name) { return KeyPrefix(name, kIndexTag); }

SnapshotSummary SnapshotIndex::Summary() const {
  SnapshotSummary summary;
  summary.blocks = entries.size();
  for (const Entry& entry : entries) summary.bytes += entry.bytes;
  summary.checksum = Checksum(EncodeEntries(entries));
  return summary;
}

const SnapshotIndex::Entry* SnapshotIndex::Find(uint32_t block_id) const {
  const auto entry =
      std::lower_bound(entries.begin(), entries.end(), block_id,
                       [](const Entry& left, uint32_t id) { return left.block_id < id; });
  return entry != entries.end() && entry->block_id == block_id ? &*entry : nullptr;
}

std::string EncodeIndex(const SnapshotIndex& index) {
  std::string bytes = EncodeEntries(index.entries);
  AppendLittleEndian(Checksum(bytes), &bytes);
  return bytes;
}

absl::StatusOr<SnapshotIndex> DecodeIndex(std::string_view bytes) {
  if (bytes.size() < kChecksumBytes || (bytes.size() - kChecksumBytes) % kEntryBytes != 0) {
    return absl::DataLossError(
        absl::StrCat("the size of the index, ", bytes.size(), " bytes, is invalid"));
  }
  std::string_view entries = bytes.substr(0, bytes.size() - kChecksumBytes);
  std::string_view checksum = bytes.substr(entries.size());
  if (TakeLittleEndian<uint64_t>(&checksum) != Checksum(entries)) {
    return absl::DataLossError("the index does not match its checksum");
  }
  SnapshotIndex index;
  while (!entries.empty()) {
    SnapshotIndex::Entry& entry = index.entries.emplace_back();
    entry.block_id = TakeLittleEndian<uint32_t>(&entries);
    entry.bytes = TakeLittleEndian<uint64_t>(&entries);
    entry.checksum = TakeLittleEndian<uint64_t>(&entries);
  }
  return index;
}

SnapshotIndex::Entry EncodeRecord(uint32_t block_id, std::string_view header,
                                  absl::Span<const std::string_view> pieces, std::string* record) {
  record->assign(kChecksumBytes, '\0');
  AppendLittleEndian(static_cast<uint32_t>(header.size()), record);
  record->append(header);
  for (std::string_view piece : pieces) record->append(piece);
  const uint64_t checksum = Checksum(std::string_view(*record).substr(kChecksumBytes));
  std::string encoded;
  AppendLittleEndian(checksum, &encoded);
  record->replace(0, kChecksumBytes, encoded);
  return {block_id, record->size() - kRecordPrefixBytes, checksum};
}

absl::StatusOr<RecordView> DecodeRecord(const SnapshotIndex::Entry& entry,
                                        std::string_view record) {
  if (record.size() != kRecordPrefixBytes + entry.bytes) {
    return absl::DataLossError(absl::StrCat("it has ", record.size(), " bytes instead of ",
                                            kRecordPrefixBytes + entry.bytes));
  }
  std::string_view rest = record;
  const uint64_t stored = TakeLittleEndian<uint64_t>(&rest);
  if (stored != entry.checksum || Checksum(rest) != entry.checksum) {
    return absl::DataLossError("its bytes do not match its checksum");
  }
  const uint32_t header_bytes = TakeLittleEndian<uint32_t>(&rest);
  if (header_bytes > rest.size()) {
    return absl::DataLossError("its header is longer than the record");
  }
  return RecordView{rest.substr(0, header_bytes), rest.substr(header_bytes)};
}

}  // namespace cairn::storage
