#include "collectives/shared_buffers.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cluster/shared_memory/local_socket.h"
#include "common/status_macros.h"

namespace cairn::collectives {
namespace {

using cluster::SharedMemory;

// The buffers of the ranks of one host together should stay in its cache.
constexpr size_t kInputBytes = 512 << 10;
// About 10 us: less than a sleep and a wakeup.
constexpr int kSpins = 300;
// More than a group has ranks: strangers may call, too.
constexpr int kCallersMax = 64;
constexpr int kReceiveMilliseconds = 1000;

struct Message {
  static constexpr uint64_t kMagic = 0x4D4853434E524943;  // "CIRNCSHM"

  uint64_t magic = kMagic;
  uint64_t token = 0;
};

std::string SocketName(uint64_t token) {
  return absl::StrCat("cairn-collectives-", absl::Hex(token, absl::kZeroPad16));
}

absl::Status SystemError(const char* what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(errno)));
}

// The memory is shared by processes, so this is not a private futex.
void WaitOnFutex(std::atomic<uint32_t>* word, uint32_t seen, absl::Duration limit) {
  const timespec time = absl::ToTimespec(limit);
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAIT, seen, &time, nullptr, 0);
}

void WakeFutex(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace

// ------------------------------------------------------------------------------------ the buffers

size_t SharedBuffers::PartBytes(int ranks) {
  constexpr size_t kMultiple = 4096;
  return kInputBytes / static_cast<size_t>(ranks) / kMultiple * kMultiple;
}

size_t SharedBuffers::BytesFor(int ranks) {
  const auto n = static_cast<size_t>(ranks);
  // Slots, inputs for each pair of ranks, results.
  return n * sizeof(Slot) + kBuffers * PartBytes(ranks) * (n * n + n);
}

SharedBuffers::SharedBuffers(std::shared_ptr<SharedMemory> memory, int rank, int ranks)
    : memory_(std::move(memory)),
      rank_(rank),
      ranks_(ranks),
      // Spinning ranks must not keep others from a core.
      spins_(std::thread::hardware_concurrency() >= static_cast<unsigned>(ranks) ? kSpins : 0) {}

SharedBuffers::Slot* SharedBuffers::slot(int rank) const {
  // All bytes are zero at first, which are the values of new counters.
  return reinterpret_cast<Slot*>(memory_->data()) + rank;
}

char* SharedBuffers::input(int from, int to, uint32_t step) const {
  const size_t index =
      (static_cast<size_t>(from) * kBuffers + step % kBuffers) * static_cast<size_t>(ranks_) +
      static_cast<size_t>(to);
  return reinterpret_cast<char*>(slot(ranks_)) + index * part_bytes();
}

char* SharedBuffers::result(int rank, uint32_t step) const {
  const size_t index = static_cast<size_t>(rank) * kBuffers + step % kBuffers;
  return input(ranks_, 0, 0) + index * part_bytes();
}

void SharedBuffers::SetPosition(Position position) {
  slot(rank_)->position.store(uint64_t{position.sequence} << 32 | position.signature,
                              std::memory_order_release);
}

SharedBuffers::Position SharedBuffers::PositionOf(int rank) const {
  const uint64_t value = slot(rank)->position.load(std::memory_order_acquire);
  return {static_cast<uint32_t>(value >> 32), static_cast<uint32_t>(value)};
}

void SharedBuffers::Advance(Stage stage, uint32_t steps) {
  Counter& counter = slot(rank_)->counters[stage];
  // The store and the load must not change places: a waiter counts itself, then looks at `steps`.
  counter.steps.store(steps, std::memory_order_seq_cst);
  if (counter.waiters.load(std::memory_order_seq_cst) != 0) WakeFutex(&counter.steps);
}

bool SharedBuffers::HasReached(int rank, Stage stage, uint32_t steps) const {
  const uint32_t now = slot(rank)->counters[stage].steps.load(std::memory_order_acquire);
  return static_cast<int32_t>(now - steps) >= 0;
}

bool SharedBuffers::WaitFor(int rank, Stage stage, uint32_t steps, absl::Duration limit) {
  for (int i = 0; i < spins_; ++i) {
    if (HasReached(rank, stage, steps)) return true;
    Pause();
  }
  if (HasReached(rank, stage, steps)) return true;
  Counter& counter = slot(rank)->counters[stage];
  counter.waiters.fetch_add(1, std::memory_order_seq_cst);
  const uint32_t seen = counter.steps.load(std::memory_order_seq_cst);
  if (static_cast<int32_t>(seen - steps) < 0) WaitOnFutex(&counter.steps, seen, limit);
  counter.waiters.fetch_sub(1, std::memory_order_seq_cst);
  return HasReached(rank, stage, steps);
}

// -------------------------------------------------------------------------------------- the setup

absl::StatusOr<std::unique_ptr<SharedBuffersHost>> SharedBuffersHost::Open(int ranks) {
  if (ranks > SharedBuffers::kRanksMax) return absl::OutOfRangeError("too many ranks");
  std::random_device random;
  const uint64_t token = uint64_t{random()} << 32 | random();
  const size_t bytes = SharedBuffers::BytesFor(ranks);
  CAIRN_ASSIGN_OR_RETURN(std::shared_ptr<SharedMemory> memory, SharedMemory::Create(token, bytes));
  // A page that cannot be allocated on first use would raise SIGBUS.
  if (fallocate(memory->descriptor(), 0, 0, static_cast<off_t>(bytes)) != 0) {
    return SystemError("fallocate");
  }
  const int listener = cluster::ListenLocally(SocketName(token));
  if (listener < 0) return SystemError("listen");
  return std::unique_ptr<SharedBuffersHost>(
      new SharedBuffersHost(listener, ranks, std::move(memory)));
}

SharedBuffersHost::~SharedBuffersHost() { close(listener_); }

void SharedBuffersHost::HandOut() const {
  Message message;
  message.token = token();
  for (int callers = 0; callers < kCallersMax; ++callers) {
    const int caller = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (caller < 0 && errno == EINTR) continue;
    if (caller < 0) return;
    if (cluster::PeerIsSameUser(caller)) {
      // Who does not get it will say so.
      cluster::SendWithDescriptor(caller, &message, sizeof message, memory_->descriptor());
    }
    close(caller);  // What was sent can still be read.
  }
}

std::unique_ptr<SharedBuffers> SharedBuffersHost::buffers() const {
  return std::make_unique<SharedBuffers>(memory_, 0, ranks_);
}

absl::StatusOr<std::unique_ptr<SharedBuffersGuest>> SharedBuffersGuest::Call(uint64_t token) {
  const int socket = cluster::ConnectLocally(SocketName(token));
  if (socket < 0) return SystemError("connect");
  std::unique_ptr<SharedBuffersGuest> guest(new SharedBuffersGuest(socket, token));
  if (!cluster::PeerIsSameUser(socket)) return absl::PermissionDeniedError("another user's socket");
  return guest;
}

SharedBuffersGuest::~SharedBuffersGuest() { close(socket_); }

absl::StatusOr<std::unique_ptr<SharedBuffers>> SharedBuffersGuest::Receive(int rank,
                                                                           int ranks) const {
  pollfd entry = {socket_, POLLIN, 0};
  poll(&entry, 1, kReceiveMilliseconds);
  Message message;
  cluster::LocalMessage received;
  if (!cluster::Receive(socket_, &message, sizeof message, &received))
    return SystemError("receive");
  if (received.descriptor < 0) return absl::UnavailableError("rank 0 has sent no memory");
  auto memory = SharedMemory::Adopt(token_, received.descriptor);
  close(received.descriptor);  // The mapping stays.
  CAIRN_RETURN_IF_ERROR(memory.status());
  if (received.bytes != sizeof message || message.magic != Message::kMagic ||
      message.token != token_ || (*memory)->bytes() != SharedBuffers::BytesFor(ranks)) {
    return absl::InvalidArgumentError("the memory is of another group");
  }
  return std::make_unique<SharedBuffers>(*std::move(memory), rank, ranks);
}

}  // namespace cairn::collectives
