#include "collectives/all_reduce.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "common/status_macros.h"

namespace cairn::collectives {
namespace {

// A multiple of the sizes of all types.
constexpr size_t kSegmentBytes = 256 << 10;

// The slices of a tensor, one for each rank.
class Slices {
 public:
  Slices(const Tensor& tensor, int count) : tensor_(tensor), count_(count) {}

  size_t elements(int index) const {
    return SliceBegin(tensor_.count, count_, index + 1) - SliceBegin(tensor_.count, count_, index);
  }
  size_t bytes(int index) const { return elements(index) * SizeOf(tensor_.type); }
  char* data(int index) const {
    return static_cast<char*>(tensor_.data) +
           SliceBegin(tensor_.count, count_, index) * SizeOf(tensor_.type);
  }

 private:
  const Tensor& tensor_;
  const int count_;
};

}  // namespace

absl::Status DirectReduceScatter(Links* links, const Operation& operation, const Tensor& input,
                                 ReduceOp op, void* output) {
  const int size = links->size();
  const int rank = links->rank();
  const Slices slices(input, size);
  // In segments, whose buffers stay in the cache: fresh memory for whole slices costs more than
  // their way over the network. Slices differ by one element at most, so all ranks make the same
  // number.
  std::vector<std::vector<char>> received(size, std::vector<char>(kSegmentBytes));
  std::vector<char> reduced(kSegmentBytes);
  const auto part_of = [&slices](int slice, size_t begin) {
    const size_t bytes = slices.bytes(slice);
    return begin < bytes ? std::min(kSegmentBytes, bytes - begin) : 0;
  };
  for (size_t begin = 0; begin == 0 || begin < slices.bytes(0); begin += kSegmentBytes) {
    const size_t own_bytes = part_of(rank, begin);
    std::vector<Transfer> transfers;
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank) continue;
      transfers.push_back(SendTo(peer, slices.data(peer) + begin, part_of(peer, begin)));
      transfers.push_back(ReceiveFrom(peer, received[peer].data(), own_bytes));
    }
    CAIRN_RETURN_IF_ERROR(links->Exchange(operation, transfers));
    if (own_bytes == 0) continue;
    for (int peer = 0; peer < size; ++peer) {
      const char* const from = peer == rank ? slices.data(rank) + begin : received[peer].data();
      if (peer == 0) {
        std::memcpy(reduced.data(), from, own_bytes);
      } else {
        Reduce(op, input.type, from, own_bytes / SizeOf(input.type), reduced.data());
      }
    }
    std::memcpy(static_cast<char*>(output) + begin, reduced.data(), own_bytes);
  }
  return absl::OkStatus();
}

absl::Status DirectAllReduce(Links* links, const Operation& operation, const Tensor& tensor,
                             ReduceOp op) {
  const int rank = links->rank();
  const Slices slices(tensor, links->size());
  CAIRN_RETURN_IF_ERROR(DirectReduceScatter(links, operation, tensor, op, slices.data(rank)));
  std::vector<Transfer> transfers;
  for (int peer = 0; peer < links->size(); ++peer) {
    if (peer == rank) continue;
    transfers.push_back(SendTo(peer, slices.data(rank), slices.bytes(rank)));
    transfers.push_back(ReceiveFrom(peer, slices.data(peer), slices.bytes(peer)));
  }
  return links->Exchange(operation, transfers);
}

absl::Status RingAllReduce(Links* links, const Operation& operation, const Tensor& tensor,
                           ReduceOp op) {
  const int size = links->size();
  const int rank = links->rank();
  const int next = (rank + 1) % size;
  const int previous = (rank + size - 1) % size;
  const Slices slices(tensor, size);
  // Slice i starts at rank i and has met all ranks when it arrives at rank i - 1.
  for (int step = 0; step < size - 1; ++step) {
    const int out = (rank - step + size) % size;
    const int in = (rank - step - 1 + size) % size;
    Transfer receipt = {.peer = previous, .bytes = slices.bytes(in)};
    receipt.consume = [&](size_t offset, const void* piece, size_t bytes) {
      Reduce(op, tensor.type, piece, bytes / SizeOf(tensor.type), slices.data(in) + offset);
    };
    CAIRN_RETURN_IF_ERROR(
        links->Exchange(operation, {SendTo(next, slices.data(out), slices.bytes(out)), receipt}));
  }
  for (int step = 0; step < size - 1; ++step) {
    const int out = (rank + 1 - step + size) % size;
    const int in = (rank - step + size) % size;
    CAIRN_RETURN_IF_ERROR(
        links->Exchange(operation, {SendTo(next, slices.data(out), slices.bytes(out)),
                                    ReceiveFrom(previous, slices.data(in), slices.bytes(in))}));
  }
  return absl::OkStatus();
}

}  // namespace cairn::collectives
