// The contents of a snapshot: the index, and a block's record with its header. The input has both.
// Their checksums are corrected first, so that inputs reach the rest of the parsers.

#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/check.h"
#include "parameters/snapshots/stored_block.h"
#include "storage/snapshot_format.h"
#include "tests/fuzz/fuzz_target.h"

namespace cairn::fuzz {
namespace {

constexpr size_t kChecksumBytes = 8;
constexpr size_t kRecordPrefixBytes = 12;
// Larger blocks would take all of a run's time.
constexpr int64_t kCopiedMax = 1 << 20;

uint64_t Checksum(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::string LittleEndian(uint64_t number) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<char>(number >> shift));
  return bytes;
}

bool ReadIndex(std::string_view input) {
  static_cast<void>(storage::DecodeIndex(input));
  std::string bytes(input);
  const auto index = storage::DecodeIndex(bytes + LittleEndian(Checksum(bytes)));
  if (!index.ok()) return false;
  CAIRN_CHECK(storage::EncodeIndex(*index) == bytes + LittleEndian(Checksum(bytes)));
  CAIRN_CHECK(index->Summary().blocks == index->entries.size());
  return true;
}

bool ReadBlock(std::string_view input) {
  if (input.size() < kRecordPrefixBytes) return false;
  std::string record(input);
  storage::SnapshotIndex::Entry entry;
  entry.bytes = record.size() - kRecordPrefixBytes;
  entry.checksum = Checksum(std::string_view(record).substr(kChecksumBytes));
  record.replace(0, kChecksumBytes, LittleEndian(entry.checksum));
  const auto view = storage::DecodeRecord(entry, record);
  if (!view.ok()) return false;
  const auto block = parameters::StoredBlock::Parse(
      7, storage::BlockRecord(record, kRecordPrefixBytes, view->header.size()));
  if (!block.ok()) return false;
  const auto count = static_cast<size_t>(std::min(block->count(), kCopiedMax));
  CAIRN_CHECK(view->payload.size() >= count * sizeof(float));
  std::vector<float> values(count);
  block->CopyValues(values.data());
  std::vector<float> slots(count * static_cast<size_t>(block->header().slots_size()));
  block->CopySlots(slots.data());
  return true;
}

}  // namespace

bool RunInput(std::string_view input) {
  const bool is_index = ReadIndex(input);
  const bool is_block = ReadBlock(input);
  return is_index || is_block;
}

}  // namespace cairn::fuzz
