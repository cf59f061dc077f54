#include "collectives/group.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cluster/address.h"
#include "cluster/tf_config.h"
#include "collectives/all_reduce.h"
#include "collectives/links.h"
#include "collectives/timeline.h"
#include "common/plural.h"
#include "common/status_macros.h"

namespace cairn::collectives {
namespace {

// Direct exchange has n - 1 messages in flight at each rank.
constexpr int kDirectRanksMax = 16;
// A rank has two connections to each other one.
constexpr int kRanksMax = 1024;
// More is a negative number that was converted, or bytes from a broken peer.
constexpr uint64_t kBytesMax = uint64_t{1} << 40;

bool IsFloating(DataType type) { return type != DataType::kInt32 && type != DataType::kInt64; }

// FNV-1a over the arguments that must be equal on all ranks.
class Signature {
 public:
  explicit Signature(std::string_view kind) {
    for (const char c : kind) Add(static_cast<unsigned char>(c));
  }
  template <typename T>
  Signature& Add(T value) {
    unsigned char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    for (const unsigned char byte : bytes) digest_ = (digest_ ^ byte) * 1099511628211ULL;
    return *this;
  }
  uint64_t digest() const { return digest_; }

 private:
  uint64_t digest_ = 14695981039346656037ULL;
};

absl::Status CheckPositive(const char* option, absl::Duration value) {
  if (value > absl::ZeroDuration()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(option, ": ", absl::FormatDuration(value), " is not a positive time"));
}

absl::Status CheckBytes(const Tensor& tensor) {
  if (tensor.count <= kBytesMax / SizeOf(tensor.type)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("tensor ", tensor.name, " has ", tensor.count,
                   " elements, which is more than a tensor can have (or a negative number)"));
}

absl::Status CheckTensor(const Tensor& tensor) {
  CAIRN_RETURN_IF_ERROR(CheckBytes(tensor));
  if (tensor.data != nullptr || tensor.count == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("tensor ", tensor.name, " has ", tensor.count, " elements and no memory"));
}

absl::Status CheckScale(const Tensor& tensor, const Group::Scale& scale) {
  if (IsFloating(tensor.type) || (scale.before == 1 && scale.after == 1)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "tensor ", tensor.name, " has integers, which are not scaled; leave the scale out"));
}

// A tensor that waits for the other ranks.
struct Enqueued {
  Tensor tensor;
  ReduceOp op = ReduceOp::kSum;
  Group::Scale scale;
  absl::Time since;  // When it was enqueued.

  uint64_t digest() const {
    return Signature("enqueued")
        .Add(tensor.type)
        .Add(tensor.count)
        .Add(op)
        .Add(scale.before)
        .Add(scale.after)
        .digest();
  }
};

// What a rank tells the others about its queue: for each tensor its digest, then its name.
struct EntryHeader {
  uint64_t digest = 0;
  uint64_t name_bytes = 0;
};

std::string ToWire(const std::vector<Enqueued>& queue) {
  std::string wire;
  for (const Enqueued& entry : queue) {
    const EntryHeader header = {entry.digest(), entry.tensor.name.size()};
    wire.append(reinterpret_cast<const char*>(&header), sizeof header);
    wire += entry.tensor.name;
  }
  return wire;
}

// The digests by name; nullopt: another format.
// `order` (may be null) gets the names in their order.
std::optional<std::map<std::string, uint64_t>> FromWire(absl::Span<const char> wire,
                                                        std::vector<std::string>* order) {
  std::map<std::string, uint64_t> digests;
  while (!wire.empty()) {
    EntryHeader header;
    if (wire.size() < sizeof header) return std::nullopt;
    std::memcpy(&header, wire.data(), sizeof header);
    wire.remove_prefix(sizeof header);
    if (header.name_bytes > wire.size()) return std::nullopt;
    std::string name(wire.data(), header.name_bytes);
    if (order != nullptr) order->push_back(name);
    if (!digests.emplace(std::move(name), header.digest).second) return std::nullopt;
    wire.remove_prefix(header.name_bytes);
  }
  return digests;
}

absl::Status AwaitAll(Links* links) {
  std::vector<Transfer> transfers;
  for (int peer = 0; peer < links->size(); ++peer) {
    if (peer == links->rank()) continue;
    transfers.push_back(SendTo(peer, nullptr, 0));
    transfers.push_back(ReceiveFrom(peer, nullptr, 0));
  }
  return links->Exchange({"barrier", "the group", Signature("barrier").digest()}, transfers);
}

}  // namespace

absl::StatusOr<GroupOptions> GroupOptions::FromTfConfig(std::string_view tf_config) {
  CAIRN_ASSIGN_OR_RETURN(const cluster::TfConfig config, cluster::ParseTfConfig(tf_config));
  if (!config.task || config.task->role != proto::WORKER) {
    return absl::InvalidArgumentError(
        R"(TF_CONFIG task: a rank of a group needs {"type": "worker", "index": N})");
  }
  GroupOptions options;
  for (const auto& [index, address] : config.workers) {
    if (index == config.task->index) options.rank = static_cast<int>(options.addresses.size());
    options.addresses.push_back(address.ToString());
  }
  return options;
}

class Group::Impl {
 public:
  Impl(GroupOptions options, std::unique_ptr<Links> links)
      : options_(std::move(options)), links_(std::move(links)), timeline_(options_.rank) {}
  ~Impl() {
    if (!options_.timeline_file.empty()) timeline_.Write(options_.timeline_file);
  }

  static absl::StatusOr<LinksOptions> CheckOptions(const GroupOptions& options) {
    const int size = static_cast<int>(options.addresses.size());
    if (options.rank < 0 || options.rank >= size) {
      return absl::InvalidArgumentError(
          absl::StrCat("rank ", options.rank, " is not in a group of ", Plural(size, "address"),
                       "; ranks count from 0"));
    }
    if (size > kRanksMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("a group has at most ", kRanksMax, " ranks, not ", size));
    }
    CAIRN_RETURN_IF_ERROR(CheckPositive("join_timeout", options.join_timeout));
    CAIRN_RETURN_IF_ERROR(CheckPositive("timeout", options.timeout));
    CAIRN_RETURN_IF_ERROR(CheckPositive("stall", options.stall));
    LinksOptions links;
    for (const std::string& text : options.addresses) {
      CAIRN_ASSIGN_OR_RETURN(links.addresses.emplace_back(), cluster::ParseAddress(text));
    }
    for (size_t i = 1; i < links.addresses.size(); ++i) {
      const auto end = links.addresses.begin() + static_cast<ptrdiff_t>(i);
      const auto same = std::find(links.addresses.begin(), end, links.addresses[i]);
      if (same == end) continue;
      return absl::InvalidArgumentError(absl::StrCat("rank ", same - links.addresses.begin(),
                                                     " and rank ", i, " have the same address ",
                                                     options.addresses[i]));
    }
    links.rank = options.rank;
    links.join_timeout = options.join_timeout;
    links.timeout = options.timeout;
    links.stall = options.stall;
    links.shared_memory = options.shared_memory == SharedMemory::kAuto;
    links.on_stall = options.on_stall;
    if (links.on_stall == nullptr) {
      links.on_stall = [rank = options.rank](const std::string& line) {
        std::fprintf(stderr, "rank %d: %s\n", rank, line.c_str());
      };
    }
    return links;
  }

  const GroupOptions& options() const { return options_; }
  Links& links() { return *links_; }
  const Links& links() const { return *links_; }
  Timeline& timeline() { return timeline_; }
  std::vector<Enqueued>& queue() { return queue_; }

  bool uses_ring() const {
    return options_.algorithm == Algorithm::kRing ||
           (options_.algorithm == Algorithm::kAuto && links_->size() > kDirectRanksMax);
  }

  // All-reduce of one piece of memory.
  absl::Status Reduce(const Tensor& tensor, ReduceOp op, const Scale& scale) {
    if (options_.uneven) {
      Call call = {.type = static_cast<uint32_t>(tensor.type), .op = static_cast<uint32_t>(op)};
      call.count = tensor.count;
      call.before = scale.before;
      call.after = scale.after;
      CAIRN_RETURN_IF_ERROR(ExchangeCalls(call, tensor.name).status());
    }
    ScaleInPlace(tensor.type, scale.before, tensor.count, tensor.data);
    return ReduceScaled(tensor, op, scale);
  }

  // Takes part in what the others reduce, until all have joined.
  absl::StatusOr<int> Join() {
    if (!options_.uneven) {
      return absl::InvalidArgumentError("Join needs GroupOptions::uneven, on all ranks");
    }
    const Timeline::Span span(&timeline_, "JOIN", "join");
    for (Call own = {.joined = 1};; ++own.joined) {
      CAIRN_ASSIGN_OR_RETURN(const std::vector<Call> calls, ExchangeCalls(own, "the group"));
      const auto active = std::find_if(calls.begin(), calls.end(),
                                       [](const Call& call) { return call.joined == 0; });
      if (active == calls.end()) {
        // The last one has waited for the fewest calls.
        int last = 0;
        for (int rank = 1; rank < links_->size(); ++rank) {
          if (calls[rank].joined <= calls[last].joined) last = rank;
        }
        return last;
      }
      CAIRN_RETURN_IF_ERROR(ReduceNothing(*active));
    }
  }

  // `tensor` has been multiplied by scale.before.
  absl::Status ReduceScaled(const Tensor& tensor, ReduceOp op, const Scale& scale) {
    const Operation operation = {"all_reduce", tensor.name,
                                 Signature("all_reduce")
                                     .Add(tensor.type)
                                     .Add(tensor.count)
                                     .Add(op)
                                     .Add(scale.before)
                                     .Add(scale.after)
                                     .Add(uses_ring())
                                     .digest()};
    const Reduction reduction = {op, scale.after};
    if (uses_ring()) {
      const Timeline::Span span(&timeline_, "RING_ALLREDUCE", tensor.name);
      return RingAllReduce(links_.get(), operation, tensor, reduction);
    }
    if (links_->shared() != nullptr) {
      const Timeline::Span span(&timeline_, "SHARED_ALLREDUCE", tensor.name);
      return SharedAllReduce(links_.get(), operation, tensor, reduction);
    }
    const Timeline::Span span(&timeline_, "DIRECT_ALLREDUCE", tensor.name);
    return DirectAllReduce(links_.get(), operation, tensor, reduction);
  }

  // All-reduce of several tensors of one type, in one buffer.
  absl::Status ReduceTogether(absl::Span<const Tensor> tensors, ReduceOp op, const Scale& scale) {
    if (tensors.size() == 1) return Reduce(tensors[0], op, scale);
    Tensor fused;
    fused.type = tensors[0].type;
    fused.name = absl::StrCat(tensors[0].name, " and ", tensors.size() - 1, " more");
    for (const Tensor& tensor : tensors) fused.count += tensor.count;
    buffer_.resize(std::max(buffer_.size(), fused.bytes()));
    fused.data = buffer_.data();
    {
      const Timeline::Span span(&timeline_, "MEMCPY_IN_FUSION_BUFFER", fused.name);
      char* to = buffer_.data();
      for (const Tensor& tensor : tensors) {
        if (tensor.count > 0) std::memcpy(to, tensor.data, tensor.bytes());
        to += tensor.bytes();
      }
    }
    CAIRN_RETURN_IF_ERROR(Reduce(fused, op, scale));
    const Timeline::Span span(&timeline_, "MEMCPY_OUT_FUSION_BUFFER", fused.name);
    const char* from = buffer_.data();
    for (const Tensor& tensor : tensors) {
      if (tensor.count > 0) std::memcpy(tensor.data, from, tensor.bytes());
      from += tensor.bytes();
    }
    return absl::OkStatus();
  }

  // Removes the tensors that all ranks have enqueued, and returns them in the order of rank 0.
  absl::StatusOr<std::vector<Enqueued>> TakeReady() {
    const std::string wire = ToWire(queue_);
    const absl::Time begin = absl::Now();
    std::vector<size_t> sizes;
    absl::StatusOr<std::vector<char>> gathered = std::vector<char>();
    {
      const Timeline::Span span(&timeline_, "NEGOTIATE_ALLREDUCE", "the queue");
      gathered = ExchangeRagged(
          {"all_reduce", "the queue", Signature("reduce_ready").digest()},
          std::vector<absl::Span<const char>>(links_->size(), absl::MakeConstSpan(wire)), 1,
          &sizes);
    }
    CAIRN_RETURN_IF_ERROR(gathered.status());
    std::vector<std::map<std::string, uint64_t>> queues;
    std::vector<std::string> order;
    absl::Span<const char> rest = absl::MakeConstSpan(*gathered);
    for (int rank = 0; rank < links_->size(); ++rank) {
      auto queue = FromWire(rest.subspan(0, sizes[rank]), rank == 0 ? &order : nullptr);
      if (!queue) {
        return absl::InvalidArgumentError(
            absl::StrCat("rank ", rank, " has sent a queue that cannot be read"));
      }
      queues.push_back(*std::move(queue));
      rest.remove_prefix(sizes[rank]);
    }
    std::vector<Enqueued> ready;
    for (const std::string& name : order) {
      const bool is_ready = std::all_of(queues.begin(), queues.end(),
                                        [&](const auto& queue) { return queue.contains(name); });
      if (!is_ready) continue;
      for (int rank = 1; rank < links_->size(); ++rank) {
        if (queues[rank][name] == queues[0][name]) continue;
        queue_.clear();
        return absl::InvalidArgumentError(
            absl::StrCat("tensor ", name, " has another type, size, operator or scale on rank ",
                         rank, " than on rank 0"));
      }
      const auto own = std::find_if(queue_.begin(), queue_.end(), [&](const Enqueued& entry) {
        return entry.tensor.name == name;
      });
      timeline_.Add("QUEUE", name, own->since, begin);
      ready.push_back(*own);
      queue_.erase(own);
    }
    return ready;
  }

  // Each rank sends send[p] to rank p, of sizes that the receiver does not know.
  absl::StatusOr<std::vector<char>> ExchangeRagged(const Operation& operation,
                                                   const std::vector<absl::Span<const char>>& send,
                                                   size_t element, std::vector<size_t>* counts) {
    const int size = links_->size();
    const int rank = links_->rank();
    std::vector<uint64_t> sent(size);
    std::vector<uint64_t> received(size);
    std::vector<Transfer> transfers;
    for (int peer = 0; peer < size; ++peer) {
      sent[peer] = send[peer].size();
      if (peer == rank) continue;
      transfers.push_back(SendTo(peer, &sent[peer], sizeof(uint64_t)));
      transfers.push_back(ReceiveFrom(peer, &received[peer], sizeof(uint64_t)));
    }
    CAIRN_RETURN_IF_ERROR(links_->Exchange(operation, transfers));
    received[rank] = sent[rank];
    uint64_t total = 0;
    for (int peer = 0; peer < size; ++peer) {
      if (received[peer] % element != 0 || received[peer] > kBytesMax - total) {
        return absl::InvalidArgumentError(
            absl::StrCat("rank ", peer, " sends ", received[peer], " bytes, which cannot be"));
      }
      total += received[peer];
    }
    std::vector<char> result(total);
    if (counts != nullptr) counts->clear();
    transfers.clear();
    char* to = result.data();
    for (int peer = 0; peer < size; ++peer) {
      if (peer != rank) {
        transfers.push_back(SendTo(peer, send[peer].data(), send[peer].size()));
        transfers.push_back(ReceiveFrom(peer, to, received[peer]));
      } else if (!send[peer].empty()) {
        std::memcpy(to, send[peer].data(), send[peer].size());
      }
      if (counts != nullptr) counts->push_back(received[peer] / element);
      to += received[peer];
    }
    CAIRN_RETURN_IF_ERROR(links_->Exchange(operation, transfers));
    return result;
  }

 private:
  // What a rank calls in an uneven group, told to all others before.
  struct Call {
    uint64_t joined = 0;  // For how many calls it has been in Join, with this one; 0: it is not.
    uint32_t type = 0;
    uint32_t op = 0;
    uint64_t count = 0;
    double before = 1;
    double after = 1;
  };

  // The calls of all ranks, by rank.
  absl::StatusOr<std::vector<Call>> ExchangeCalls(const Call& own, const std::string& name) {
    std::vector<Call> calls(links_->size(), own);
    std::vector<Transfer> transfers;
    for (int peer = 0; peer < links_->size(); ++peer) {
      if (peer == links_->rank()) continue;
      transfers.push_back(SendTo(peer, &own, sizeof own));
      transfers.push_back(ReceiveFrom(peer, &calls[peer], sizeof(Call)));
    }
    CAIRN_RETURN_IF_ERROR(links_->Exchange(
        {own.joined > 0 ? "join" : "all_reduce", name, Signature("uneven").digest()}, transfers));
    return calls;
  }

  // With memory of its own.
  absl::Status ReduceNothing(const Call& call) {
    Tensor tensor;
    tensor.name = "a tensor of another rank";
    tensor.type = static_cast<DataType>(call.type);
    tensor.count = call.count;
    const auto op = static_cast<ReduceOp>(call.op);
    if (call.type > static_cast<uint32_t>(DataType::kInt64) ||
        call.op > static_cast<uint32_t>(ReduceOp::kProduct) || !CheckBytes(tensor).ok()) {
      return absl::InvalidArgumentError("join: another rank says that it reduces what cannot be");
    }
    buffer_.resize(std::max(buffer_.size(), tensor.bytes()));
    tensor.data = buffer_.data();
    FillNeutral(op, tensor.type, tensor.count, tensor.data);
    return ReduceScaled(tensor, op, {call.before, call.after});
  }

  const GroupOptions options_;
  const std::unique_ptr<Links> links_;
  Timeline timeline_;
  std::vector<char> buffer_;
  std::vector<Enqueued> queue_;
};

Group::Group(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Group::~Group() = default;

absl::StatusOr<std::unique_ptr<Group>> Group::Join(const GroupOptions& options) {
  CAIRN_ASSIGN_OR_RETURN(const LinksOptions links_options, Impl::CheckOptions(options));
  CAIRN_ASSIGN_OR_RETURN(std::unique_ptr<Links> links, Links::Connect(links_options));
  return std::unique_ptr<Group>(new Group(std::make_unique<Impl>(options, std::move(links))));
}

int Group::rank() const { return impl_->links().rank(); }
int Group::size() const { return impl_->links().size(); }

bool Group::uses_shared_memory() const { return impl_->links().shared() != nullptr; }

int Group::local_rank() const {
  const auto& addresses = impl_->links().options().addresses;
  return static_cast<int>(std::count_if(
      addresses.begin(), addresses.begin() + rank(),
      [&](const cluster::Address& address) { return address.host == addresses[rank()].host; }));
}

int Group::local_size() const {
  const auto& addresses = impl_->links().options().addresses;
  return static_cast<int>(std::count_if(
      addresses.begin(), addresses.end(),
      [&](const cluster::Address& address) { return address.host == addresses[rank()].host; }));
}

absl::Status Group::AllReduce(absl::Span<const Tensor> tensors, ReduceOp op, Scale scale) {
  for (const Tensor& tensor : tensors) {
    CAIRN_RETURN_IF_ERROR(CheckTensor(tensor));
    CAIRN_RETURN_IF_ERROR(CheckScale(tensor, scale));
  }
  for (size_t begin = 0; begin < tensors.size();) {
    size_t end = begin + 1;
    size_t bytes = tensors[begin].bytes();
    while (end < tensors.size() && tensors[end].type == tensors[begin].type &&
           bytes + tensors[end].bytes() <= impl_->options().fusion_bytes) {
      bytes += tensors[end++].bytes();
    }
    CAIRN_RETURN_IF_ERROR(impl_->ReduceTogether(tensors.subspan(begin, end - begin), op, scale));
    begin = end;
  }
  return absl::OkStatus();
}

absl::Status Group::Enqueue(const Tensor& tensor, ReduceOp op, Scale scale) {
  CAIRN_RETURN_IF_ERROR(CheckTensor(tensor));
  CAIRN_RETURN_IF_ERROR(CheckScale(tensor, scale));
  if (tensor.name.empty()) {
    return absl::InvalidArgumentError("a tensor without a name cannot be enqueued");
  }
  for (const Enqueued& entry : impl_->queue()) {
    if (entry.tensor.name != tensor.name) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("tensor ", tensor.name, " is in the queue; call ReduceReady before"));
  }
  impl_->queue().push_back({tensor, op, scale, absl::Now()});
  return absl::OkStatus();
}

std::vector<std::string> Group::enqueued() const {
  std::vector<std::string> names;
  for (const Enqueued& entry : impl_->queue()) names.push_back(entry.tensor.name);
  return names;
}

// All ranks see all queues, so they come to the same result without a coordinator.
absl::StatusOr<std::vector<std::string>> Group::ReduceReady() {
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Enqueued> ready, impl_->TakeReady());
  std::vector<std::string> names;
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < ready.size(); ++i) {
    const Enqueued& entry = ready[i];
    names.push_back(entry.tensor.name);
    tensors.push_back(entry.tensor);
    // Those with the same operator travel together.
    if (i + 1 < ready.size() && ready[i + 1].op == entry.op &&
        ready[i + 1].scale.before == entry.scale.before &&
        ready[i + 1].scale.after == entry.scale.after) {
      continue;
    }
    CAIRN_RETURN_IF_ERROR(AllReduce(tensors, entry.op, entry.scale));
    tensors.clear();
  }
  return names;
}

// A binomial tree: the ranks that have the tensor double in each of ceil(log2 n) steps.
absl::Status Group::Broadcast(const Tensor& tensor, int root) {
  CAIRN_RETURN_IF_ERROR(CheckTensor(tensor));
  if (root < 0 || root >= size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the root ", root, " is not a rank of a group of ", size()));
  }
  const Operation operation = {
      "broadcast", tensor.name,
      Signature("broadcast").Add(tensor.type).Add(tensor.count).Add(root).digest()};
  const Timeline::Span span(&impl_->timeline(), "BROADCAST", tensor.name);
  const int distance = (rank() - root + size()) % size();
  const auto rank_at = [&](int at) { return (at + root) % size(); };
  for (int have = 1; have < size(); have *= 2) {
    std::vector<Transfer> transfers;
    if (distance < have && distance + have < size()) {
      transfers.push_back(SendTo(rank_at(distance + have), tensor.data, tensor.bytes()));
    } else if (distance >= have && distance < 2 * have) {
      transfers.push_back(ReceiveFrom(rank_at(distance - have), tensor.data, tensor.bytes()));
    }
    CAIRN_RETURN_IF_ERROR(impl_->links().Exchange(operation, transfers));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<char>> Group::AllGather(const Tensor& tensor,
                                                   std::vector<size_t>* counts) {
  CAIRN_RETURN_IF_ERROR(CheckTensor(tensor));
  const Timeline::Span span(&impl_->timeline(), "ALLGATHER", tensor.name);
  const absl::Span<const char> own(static_cast<const char*>(tensor.data), tensor.bytes());
  return impl_->ExchangeRagged(
      {"all_gather", tensor.name, Signature("all_gather").Add(tensor.type).digest()},
      std::vector<absl::Span<const char>>(size(), own), SizeOf(tensor.type), counts);
}

absl::StatusOr<std::vector<char>> Group::ReduceScatter(const Tensor& input, ReduceOp op,
                                                       Scale scale) {
  CAIRN_RETURN_IF_ERROR(CheckTensor(input));
  CAIRN_RETURN_IF_ERROR(CheckScale(input, scale));
  const Operation operation = {"reduce_scatter", input.name,
                               Signature("reduce_scatter")
                                   .Add(input.type)
                                   .Add(input.count)
                                   .Add(op)
                                   .Add(scale.before)
                                   .Add(scale.after)
                                   .digest()};
  const Timeline::Span span(&impl_->timeline(), "REDUCESCATTER", input.name);
  Tensor scaled = input;
  std::vector<char> copy;
  if (scale.before != 1) {
    const char* const values = static_cast<const char*>(input.data);
    copy.assign(values, values + input.bytes());
    scaled.data = copy.data();
    ScaleInPlace(input.type, scale.before, input.count, scaled.data);
  }
  const size_t count =
      SliceBegin(input.count, size(), rank() + 1) - SliceBegin(input.count, size(), rank());
  std::vector<char> result(count * SizeOf(input.type));
  const Reduction reduction = {op, scale.after};
  Links* const links = &impl_->links();
  CAIRN_RETURN_IF_ERROR(
      links->shared() != nullptr
          ? SharedReduceScatter(links, operation, scaled, reduction, result.data())
          : DirectReduceScatter(links, operation, scaled, reduction, result.data()));
  return result;
}

absl::StatusOr<std::vector<char>> Group::AllToAll(const Tensor& tensor,
                                                  absl::Span<const size_t> counts,
                                                  std::vector<size_t>* received) {
  CAIRN_RETURN_IF_ERROR(CheckTensor(tensor));
  if (static_cast<int>(counts.size()) != size()) {
    return absl::InvalidArgumentError(absl::StrCat("all_to_all of ", tensor.name, " has ",
                                                   Plural(counts.size(), "count"), " for ", size(),
                                                   " ranks"));
  }
  const Timeline::Span span(&impl_->timeline(), "ALLTOALL", tensor.name);
  std::vector<absl::Span<const char>> parts;
  size_t begin = 0;
  for (const size_t count : counts) {
    if (count > tensor.count - begin) {
      return absl::InvalidArgumentError(absl::StrCat("all_to_all of ", tensor.name,
                                                     ": the counts are more than its ",
                                                     tensor.count, " elements"));
    }
    parts.emplace_back(static_cast<const char*>(tensor.data) + begin * SizeOf(tensor.type),
                       count * SizeOf(tensor.type));
    begin += count;
  }
  return impl_->ExchangeRagged(
      {"all_to_all", tensor.name, Signature("all_to_all").Add(tensor.type).digest()}, parts,
      SizeOf(tensor.type), received);
}

absl::Status Group::Barrier() {
  const Timeline::Span span(&impl_->timeline(), "BARRIER", "barrier");
  return AwaitAll(&impl_->links());
}

absl::StatusOr<int> Group::Join() { return impl_->Join(); }

absl::StatusOr<std::unique_ptr<Group>> Group::Reform(int min_size, absl::Duration window) const {
  if (min_size < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a group has at least 1 rank, so min_size cannot be ", min_size));
  }
  CAIRN_RETURN_IF_ERROR(CheckPositive("window", window));
  if (impl_->links().failure().ok()) {
    return absl::FailedPreconditionError("the group has not failed: there is nothing to reform");
  }
  GroupOptions options = impl_->options();
  LinksOptions failed = impl_->links().options();
  int lost = impl_->links().lost();
  const absl::Time deadline = absl::Now() + options.join_timeout;
  // A rank may die after it was found. Then those that are left look again, among the ranks of the
  // group that it should have joined: some have waited for it for a window, others know at once.
  for (int attempt = 1;; ++attempt) {
    CAIRN_ASSIGN_OR_RETURN(const std::vector<int> survivors,
                           FindSurvivors(failed, lost, attempt == 1 ? window : 2 * window));
    if (static_cast<int>(survivors.size()) < min_size) {
      return absl::UnavailableError(absl::StrCat("of ", size(), " ranks ", survivors.size(),
                                                 " are left, fewer than ", min_size));
    }
    LinksOptions next = failed;
    next.addresses.clear();
    options.addresses.clear();
    for (const int survivor : survivors) {
      if (survivor == failed.rank) {
        next.rank = options.rank = static_cast<int>(next.addresses.size());
      }
      next.addresses.push_back(failed.addresses[survivor]);
      options.addresses.push_back(next.addresses.back().ToString());
    }
    // Late calls of the old group must not get into the new one.
    next.generation = failed.generation + 1;
    next.join_timeout = next.timeout = window;
    absl::StatusOr<std::unique_ptr<Links>> links = Links::Connect(next);
    if (links.ok() && AwaitAll(links->get()).ok()) {
      (*links)->set_timeout(options.timeout);
      return std::unique_ptr<Group>(
          new Group(std::make_unique<Impl>(std::move(options), *std::move(links))));
    }
    if (!links.ok() && !absl::IsDeadlineExceeded(links.status())) return links.status();
    if (attempt > 1 && absl::Now() > deadline) {
      return links.ok() ? (*links)->failure() : links.status();
    }
    lost = links.ok() ? (*links)->lost() : -1;
    failed = std::move(next);
  }
}

}  // namespace cairn::collectives
