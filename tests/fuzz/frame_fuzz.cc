// Frames of the data plane, as a ps reads them: first unchanged, then with corrected lengths and
// checksum, so that headers and tensors are reached too. In slices of any size.

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/frame.h"
#include "common/check.h"
#include "parameters/parameter_frames.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/parameters/test_job.h"

namespace cairn::fuzz {
namespace {

constexpr size_t kPrefixBytes = 56;
constexpr size_t kEntryBytes = 16;
constexpr size_t kChecksumBytes = 8;

// The frame in slices, as gRPC may receive it.
cluster::Frame InSlices(const std::string& bytes, size_t slice_bytes) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += slice_bytes) {
    slices.emplace_back(bytes.data() + at, std::min(slice_bytes, bytes.size() - at));
  }
  return cluster::Frame(std::make_shared<grpc::ByteBuffer>(slices.data(), slices.size()));
}

template <typename Number>
Number Get(const std::string& bytes, size_t at) {
  Number number;
  std::memcpy(&number, &bytes[at], sizeof(number));
  return number;
}

template <typename Number>
void Put(Number number, size_t at, std::string* bytes) {
  std::memcpy(&(*bytes)[at], &number, sizeof(number));
}

// Keeps the sizes of tensors that fit; the last tensor gets the rest. `at` is the start of the
// table.
void PutTensorsRight(uint32_t tensors, size_t at, std::string* bytes) {
  size_t payload = at + tensors * kEntryBytes + kChecksumBytes;
  for (uint32_t i = 0; i < tensors; ++i, at += kEntryBytes) {
    const uint64_t left = bytes->size() - payload;
    const uint64_t size = i + 1 == tensors ? left : std::min(Get<uint64_t>(*bytes, at), left);
    Put<uint64_t>(size, at, bytes);
    Put<uint64_t>(XXH3_64bits(bytes->data() + payload, size), at + 8, bytes);
    payload += size;
  }
  Put<uint64_t>(XXH3_64bits(bytes->data(), at), at, bytes);
}

// Keeps the header's length and the number of tensors if they fit.
std::string PutRight(std::string bytes) {
  bytes.resize(std::max(bytes.size(), kPrefixBytes + kChecksumBytes));
  size_t room = bytes.size() - kPrefixBytes - kChecksumBytes;
  const auto tensors =
      static_cast<uint32_t>(std::min<size_t>(Get<uint32_t>(bytes, 16), room / kEntryBytes));
  room -= tensors * kEntryBytes;
  const auto header_bytes = static_cast<uint32_t>(std::min<size_t>(Get<uint32_t>(bytes, 4), room));
  room -= header_bytes;
  if (tensors == 0) bytes.resize(bytes.size() - std::exchange(room, 0));
  Put<uint32_t>(0x32726943, 0, &bytes);
  Put<uint32_t>(header_bytes, 4, &bytes);
  Put<uint64_t>(room, 8, &bytes);
  Put<uint32_t>(tensors, 16, &bytes);
  Put<uint32_t>(0, 20, &bytes);  // The payload is not in shared memory.
  PutTensorsRight(tensors, kPrefixBytes + header_bytes, &bytes);
  return bytes;
}

bool ReadPull(const cluster::Frame& frame, const parameters::JobLayout& layout) {
  proto::PullHeader header;
  const auto reader = cluster::FrameReader::Open(frame, &header);
  return reader.ok() && reader->ExpectEnd().ok() && !header.blocks().empty() &&
         parameters::FindBlocks(layout, header.blocks()).ok();
}

bool ReadPush(const cluster::Frame& frame, const parameters::JobLayout& layout,
              parameters::BufferPool* pool) {
  proto::PushHeader header;
  auto reader = cluster::FrameReader::Open(frame, &header);
  if (!reader.ok()) return false;
  const auto pushes = parameters::ReadGradients(layout, header, &*reader, pool);
  if (!pushes.ok()) return false;
  for (const parameters::BlockPush& push : *pushes) {
    const parameters::BlockSpec& block = layout.blocks().at(push.position);
    CAIRN_CHECK(!push.gradient || push.gradient.count() == block.count);
  }
  return true;
}

bool ReadUpload(const cluster::Frame& frame, parameters::BufferPool* pool) {
  proto::UploadHeader header;
  auto reader = cluster::FrameReader::Open(frame, &header);
  if (!reader.ok()) return false;
  return parameters::ReadUploads(header, &*reader, pool).ok();
}

bool ReadAll(const cluster::Frame& frame) {
  static const auto* const layout = new std::shared_ptr<const parameters::JobLayout>(
      parameters::MakeLayout(parameters::TestJobOptions()));
  static auto* const pool = new parameters::BufferPool();
  const bool is_pull = ReadPull(frame, **layout);
  const bool is_push = ReadPush(frame, **layout, pool);
  const bool is_upload = ReadUpload(frame, pool);
  return is_pull || is_push || is_upload;
}

}  // namespace

bool RunInput(std::string_view input) {
  const std::string bytes(input);
  const size_t slice_bytes = bytes.empty() ? 1 : 1 + static_cast<uint8_t>(bytes.back());
  ReadAll(InSlices(bytes, slice_bytes));
  return ReadAll(InSlices(PutRight(bytes), slice_bytes));
}

}  // namespace cairn::fuzz
