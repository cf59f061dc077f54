#include "collectives/all_reduce.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "common/status_macros.h"

namespace cairn::collectives {
namespace {

// A multiple of the sizes of all types. A rank's segments and those in its sockets' buffers should
// stay in the cache: fresh memory for whole slices costs more than their way over the network.
constexpr size_t kSegmentBytes = 128 << 10;

// A part of a slice.
struct Segment {
  char* data = nullptr;
  size_t bytes = 0;
};

// The slices of a tensor, one for each rank. They differ by one element at most.
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

  // The number of segments of `size` bytes: the same for all slices, so that all ranks make the
  // same steps. The last ones may be empty. At least 1.
  size_t segments(size_t size) const { return std::max<size_t>(1, (bytes(0) + size - 1) / size); }
  Segment segment(int index, size_t size, size_t step) const {
    const size_t begin = std::min(size * step, bytes(index));
    return {data(index) + begin, std::min(size, bytes(index) - begin)};
  }

 private:
  const Tensor& tensor_;
  const int count_;
};

// `to` = the reduction of all sources in their order. `to` may be one of the sources; `scratch` has
// room for as many bytes. There are at least 2 sources.
void ReduceInOrder(const Reduction& reduction, DataType type,
                   const std::vector<const char*>& sources, size_t bytes, char* scratch, char* to) {
  const size_t count = bytes / SizeOf(type);
  if (count == 0) return;
  const char* sum = sources[0];
  for (size_t i = 1; i < sources.size(); ++i) {
    // What is still to be read must not be overwritten.
    char* const next = i + 1 == sources.size() ? to : scratch;
    Reduce(reduction.op, type, sum, sources[i], count, next);
    sum = next;
  }
}

// After all values are combined.
void Finish(const Reduction& reduction, DataType type, int ranks, size_t bytes, void* data) {
  const size_t count = bytes / SizeOf(type);
  if (reduction.op == ReduceOp::kAverage) DivideInPlace(type, ranks, count, data);
  ScaleInPlace(type, reduction.factor, count, data);
}

// Of `input`, whose slice of this rank is reduced to `output`, which may be that slice. `gathers`:
// the other slices are replaced by those that the others have reduced.
absl::Status DirectReduce(Links* links, const Operation& operation, const Tensor& input,
                          const Reduction& reduction, char* output, bool gathers) {
  const int size = links->size();
  const int rank = links->rank();
  const Slices slices(input, size);
  const size_t steps = slices.segments(kSegmentBytes);
  if (size == 1) {
    if (output != slices.data(0) && input.bytes() > 0) {
      std::memcpy(output, input.data, input.bytes());
    }
    Finish(reduction, input.type, size, input.bytes(), output);
    return absl::OkStatus();
  }
  const size_t room = std::min(kSegmentBytes, slices.bytes(0));
  std::vector<std::vector<char>> received(size);
  for (int peer = 0; peer < size; ++peer) {
    if (peer != rank) received[peer].resize(room);
  }
  std::vector<char> scratch(room);
  std::vector<const char*> sources(size);
  std::vector<Transfer> transfers;
  for (size_t step = 0; step < steps + (gathers ? 1 : 0); ++step) {
    const Segment own = slices.segment(rank, kSegmentBytes, step);
    transfers.clear();
    if (step < steps) {
      for (int peer = 0; peer < size; ++peer) {
        if (peer == rank) continue;
        const Segment theirs = slices.segment(peer, kSegmentBytes, step);
        transfers.push_back(SendTo(peer, theirs.data, theirs.bytes));
        transfers.push_back(ReceiveFrom(peer, received[peer].data(), own.bytes));
      }
    }
    if (gathers && step > 0) {
      const Segment reduced = slices.segment(rank, kSegmentBytes, step - 1);
      for (int peer = 0; peer < size; ++peer) {
        if (peer == rank) continue;
        const Segment theirs = slices.segment(peer, kSegmentBytes, step - 1);
        transfers.push_back(SendTo(peer, reduced.data, reduced.bytes));
        transfers.push_back(ReceiveFrom(peer, theirs.data, theirs.bytes));
      }
    }
    CAIRN_RETURN_IF_ERROR(links->Exchange(operation, transfers));
    if (step == steps) break;
    for (int peer = 0; peer < size; ++peer) {
      sources[peer] = peer == rank ? own.data : received[peer].data();
    }
    char* const to = output + step * kSegmentBytes;
    ReduceInOrder(reduction, input.type, sources, own.bytes, scratch.data(), to);
    Finish(reduction, input.type, size, own.bytes, to);
  }
  return absl::OkStatus();
}

// The same through shared memory. In turn s a rank copies the values of step s in, reduces step
// s - 1 and copies the results of step s - 2 out: so it rarely waits for one that is a little
// behind. A buffer is free again after 3 steps: its reader has then finished with it, or this rank
// would still be waiting (see SharedBuffers::kBuffers).
absl::Status SharedReduce(Links* links, const Operation& operation, const Tensor& input,
                          const Reduction& reduction, char* output, bool gathers) {
  const int size = links->size();
  const int rank = links->rank();
  SharedBuffers& shared = *links->shared();
  const Slices slices(input, size);
  const size_t part = shared.part_bytes();
  const auto steps = static_cast<uint32_t>(slices.segments(part));
  uint32_t first = 0;
  CAIRN_RETURN_IF_ERROR(links->BeginShared(operation, &first));
  std::vector<char> scratch(std::min(part, slices.bytes(0)));
  std::vector<const char*> sources(size);
  for (uint32_t turn = 0; turn < steps + 2; ++turn) {
    if (turn < steps) {
      for (int peer = 0; peer < size; ++peer) {
        const Segment theirs = slices.segment(peer, part, turn);
        if (peer == rank || theirs.bytes == 0) continue;
        std::memcpy(shared.input(rank, peer, first + turn), theirs.data, theirs.bytes);
      }
      shared.Advance(SharedBuffers::kCopied, first + turn + 1);
    }
    if (turn >= 1 && turn <= steps) {
      const uint32_t step = turn - 1;
      CAIRN_RETURN_IF_ERROR(
          links->AwaitShared(operation, SharedBuffers::kCopied, first + step + 1));
      const Segment own = slices.segment(rank, part, step);
      for (int peer = 0; peer < size; ++peer) {
        sources[peer] = peer == rank ? own.data : shared.input(peer, rank, first + step);
      }
      char* const to = output + step * part;
      ReduceInOrder(reduction, input.type, sources, own.bytes, scratch.data(), to);
      Finish(reduction, input.type, size, own.bytes, to);
      if (gathers && own.bytes > 0) {
        std::memcpy(shared.result(rank, first + step), to, own.bytes);
      }
      shared.Advance(SharedBuffers::kReduced, first + step + 1);
    }
    if (turn >= 2) {
      const uint32_t step = turn - 2;
      CAIRN_RETURN_IF_ERROR(
          links->AwaitShared(operation, SharedBuffers::kReduced, first + step + 1));
      for (int peer = 0; peer < size && gathers; ++peer) {
        const Segment theirs = slices.segment(peer, part, step);
        if (peer == rank || theirs.bytes == 0) continue;
        std::memcpy(theirs.data, shared.result(peer, first + step), theirs.bytes);
      }
    }
  }
  links->EndShared(steps);
  return absl::OkStatus();
}

char* OwnSlice(const Links& links, const Tensor& tensor) {
  return Slices(tensor, links.size()).data(links.rank());
}

}  // namespace

absl::Status DirectAllReduce(Links* links, const Operation& operation, const Tensor& tensor,
                             const Reduction& reduction) {
  return DirectReduce(links, operation, tensor, reduction, OwnSlice(*links, tensor),
                      /*gathers=*/true);
}

absl::Status DirectReduceScatter(Links* links, const Operation& operation, const Tensor& input,
                                 const Reduction& reduction, void* output) {
  return DirectReduce(links, operation, input, reduction, static_cast<char*>(output),
                      /*gathers=*/false);
}

absl::Status SharedAllReduce(Links* links, const Operation& operation, const Tensor& tensor,
                             const Reduction& reduction) {
  return SharedReduce(links, operation, tensor, reduction, OwnSlice(*links, tensor),
                      /*gathers=*/true);
}

absl::Status SharedReduceScatter(Links* links, const Operation& operation, const Tensor& input,
                                 const Reduction& reduction, void* output) {
  return SharedReduce(links, operation, input, reduction, static_cast<char*>(output),
                      /*gathers=*/false);
}

absl::Status RingAllReduce(Links* links, const Operation& operation, const Tensor& tensor,
                           const Reduction& reduction) {
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
      char* const into = slices.data(in) + offset;
      Reduce(reduction.op, tensor.type, piece, bytes / SizeOf(tensor.type), into);
      if (step == size - 2) Finish(reduction, tensor.type, size, bytes, into);
    };
    CAIRN_RETURN_IF_ERROR(
        links->Exchange(operation, {SendTo(next, slices.data(out), slices.bytes(out)), receipt}));
  }
  if (size == 1) Finish(reduction, tensor.type, size, tensor.bytes(), tensor.data);
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
