#include "collectives/links.h"

#include <poll.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "cluster/listener.h"
#include "common/mutex.h"
#include "common/status_macros.h"

namespace cairn::collectives {
namespace {

static_assert(std::endian::native == std::endian::little, "messages have the machine's byte order");

constexpr uint32_t kMagic = 0x324C4F43;  // "COL2"
constexpr absl::Duration kHelloTimeout = absl::Seconds(1);
constexpr absl::Duration kConnectTimeout = absl::Seconds(1);
constexpr absl::Duration kRetry = absl::Milliseconds(50);
constexpr absl::Duration kListPause = absl::Milliseconds(5);
constexpr absl::Duration kNewsTimeout = absl::Seconds(1);
constexpr size_t kPieceBytes = 256 << 10;
// Between ranks of one host. The kernel lets buffers of a loopback connection grow to several MiB,
// which do not stay in the cache: copying through them takes a third more time.
constexpr int kLocalBufferBytes = 1 << 20;
// How often a rank that waits looks at the clock and at what has happened to the others.
constexpr absl::Duration kLook = absl::Milliseconds(100);
// The same in shared memory, where waiting does not end when a rank dies.
constexpr absl::Duration kSharedLook = absl::Milliseconds(20);

enum Purpose : uint32_t { kData, kNews, kSurvivors };

// The first message in each direction of a connection.
struct Hello {
  uint32_t magic = kMagic;
  uint32_t purpose = kData;
  uint64_t generation = 0;
  uint64_t addresses = 0;  // Their digest.
  uint32_t rank = 0;
  uint32_t size = 0;
};

// Before the bytes of each transfer.
struct Header {
  uint32_t magic = kMagic;
  uint32_t reserved = 0;
  uint64_t sequence = 0;
  uint64_t signature = 0;
  uint64_t bytes = 0;
};

// Why a group ends: to the ranks that do not see it themselves.
struct News {
  enum Cause : uint32_t { kLost, kHangs, kMismatch };

  static constexpr uint32_t kUnknown = UINT32_MAX;

  uint32_t magic = kMagic;
  uint32_t cause = kLost;
  uint32_t rank = kUnknown;  // The one that is lost or hangs.
};

// FNV-1a.
uint64_t DigestOf(const std::vector<cluster::Address>& addresses) {
  uint64_t digest = 14695981039346656037ULL;
  for (const cluster::Address& address : addresses) {
    for (const char c : address.ToString() + "\n") {
      digest = (digest ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    }
  }
  return digest;
}

Hello HelloOf(const LinksOptions& options, Purpose purpose) {
  Hello hello;
  hello.purpose = purpose;
  hello.generation = options.generation;
  hello.addresses = DigestOf(options.addresses);
  hello.rank = static_cast<uint32_t>(options.rank);
  hello.size = static_cast<uint32_t>(options.addresses.size());
  return hello;
}

// Connections that others make.
class Door {
 public:
  static absl::StatusOr<std::unique_ptr<Door>> Open(const cluster::Address& own) {
    auto door = std::make_unique<Door>();
    CAIRN_ASSIGN_OR_RETURN(door->listener_, cluster::Listener::Listen(cluster::BindAddress(own)));
    door->listener_->Start([raw = door.get()](int descriptor) { raw->Add(Socket(descriptor)); });
    return door;
  }
  ~Door() { listener_.reset(); }  // Before the queue, which it fills.

  // The next one, or nullopt after `deadline`.
  std::optional<Socket> Next(absl::Time deadline) {
    MutexLock lock(&mutex_);
    while (waiting_.empty()) {
      const absl::Duration left = deadline - absl::Now();
      if (left <= absl::ZeroDuration()) return std::nullopt;
      // Not forever: the clock of the condition variable would overflow.
      changed_.WaitFor(&mutex_, absl::ToChronoNanoseconds(std::min(left, absl::Hours(1))));
    }
    Socket next = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
    return next;
  }

 private:
  // More than any group needs: others are turned away.
  static constexpr size_t kWaitingMax = 4096;

  void Add(Socket socket) {
    MutexLock lock(&mutex_);
    if (waiting_.size() >= kWaitingMax) return;
    waiting_.push_back(std::move(socket));
    changed_.NotifyAll();
  }

  std::unique_ptr<cluster::Listener> listener_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::vector<Socket> waiting_ ABSL_GUARDED_BY(mutex_);
};

bool IsHello(const Hello& hello, const LinksOptions& options) {
  return hello.magic == kMagic && hello.purpose <= kSurvivors &&
         hello.rank < options.addresses.size();
}

bool IsOfGroup(const Hello& hello, const Hello& own) {
  return hello.addresses == own.addresses && hello.size == own.size;
}

// Later groups differ because ranks were lost: a late rank of another one is no reason to end.
bool IsMistake(const Hello& hello, const Hello& own) {
  return !IsOfGroup(hello, own) && hello.generation == 0 && own.generation == 0;
}

absl::Status OtherGroup(const LinksOptions& options, const Hello& other) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the lists of ranks differ: this rank ", options.rank, " has ", options.addresses.size(),
      " ranks, the process at rank ", other.rank, "'s place has ", other.size,
      " ranks or other addresses; give all the same list"));
}

}  // namespace

struct Links::Progress {
  Transfer transfer;
  Header header;
  size_t header_done = 0;
  size_t done = 0;          // Bytes.
  std::vector<char> piece;  // Of a transfer that consumes.
  size_t in_piece = 0;
  // The transfer before it in the same direction with the same peer, by index; -1: none.
  int before = -1;

  bool complete() const { return header_done == sizeof(Header) && done == transfer.bytes; }
  bool is_next(const std::vector<Progress>& all) const {
    return !complete() && (before < 0 || all[before].complete());
  }
};

// ------------------------------------------------------------------------------------- the mesh

absl::StatusOr<std::unique_ptr<Links>> Links::Connect(const LinksOptions& options) {
  std::unique_ptr<Links> links(new Links(options));
  const absl::Time deadline = absl::Now() + options.join_timeout;
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<Door> door,
                         Door::Open(options.addresses[static_cast<size_t>(options.rank)]));
  CAIRN_RETURN_IF_ERROR(links->CallLowerRanks(deadline));
  // Then those above, whose calls have waited at the door.
  std::vector<int> missing;
  const auto find_missing = [&] {
    missing.clear();
    for (int rank = options.rank + 1; rank < links->size(); ++rank) {
      const Peer& peer = links->peers_[rank];
      if (!peer.data.is_open() || !peer.news.is_open()) missing.push_back(rank);
    }
  };
  for (find_missing(); !missing.empty(); find_missing()) {
    std::optional<Socket> caller = door->Next(deadline);
    if (!caller) {
      return absl::DeadlineExceededError(absl::StrCat(
          "rank ", options.rank, " waited ", absl::FormatDuration(options.join_timeout),
          " for rank ", absl::StrJoin(missing, ", rank ")));
    }
    Hello hello;
    if (!caller->ReceiveAll(&hello, sizeof hello, kHelloTimeout).ok()) continue;
    if (!IsHello(hello, options) || hello.purpose == kSurvivors) continue;
    const Hello own = HelloOf(options, static_cast<Purpose>(hello.purpose));
    if (!caller->SendAll(&own, sizeof own, kHelloTimeout).ok()) continue;
    if (IsMistake(hello, own)) return OtherGroup(options, hello);
    if (!IsOfGroup(hello, own) || hello.generation != own.generation ||
        static_cast<int>(hello.rank) <= options.rank) {
      continue;
    }
    Peer& peer = links->peers_[hello.rank];
    (hello.purpose == kData ? peer.data : peer.news) = *std::move(caller);
  }
  for (int rank = 0; rank < links->size(); ++rank) {
    if (rank == options.rank) continue;
    if (options.addresses[rank].host != options.addresses[options.rank].host) continue;
    links->peers_[rank].data.SetBufferSizes(kLocalBufferBytes);
  }
  // All have joined. If one is lost from now on, the next operation says so, and the others may
  // reform.
  links->ShareMemory().IgnoreError();
  return links;
}

absl::Status Links::CallLowerRanks(absl::Time deadline) {
  for (int rank = 0; rank < options_.rank; ++rank) {
    for (const Purpose purpose : {kData, kNews}) {
      const Hello own = HelloOf(options_, purpose);
      Socket& socket = purpose == kData ? peers_[rank].data : peers_[rank].news;
      while (!socket.is_open()) {
        if (absl::Now() > deadline) {
          return absl::DeadlineExceededError(
              absl::StrCat("rank ", options_.rank, " could not reach ", Name(rank), " in ",
                           absl::FormatDuration(options_.join_timeout)));
        }
        auto called = Socket::Connect(options_.addresses[rank], kConnectTimeout);
        Hello hello;
        // The other one may still be calling the ranks below it.
        const absl::Duration left = deadline - absl::Now();
        const bool answered =
            called.ok() && called->SendAll(&own, sizeof own, kHelloTimeout).ok() &&
            called->ReceiveAll(&hello, sizeof hello, left).ok() && IsHello(hello, options_);
        if (answered && IsMistake(hello, own)) return OtherGroup(options_, hello);
        if (answered && IsOfGroup(hello, own) && hello.generation == own.generation &&
            static_cast<int>(hello.rank) == rank) {
          socket = *std::move(called);
        } else {
          absl::SleepFor(kRetry);
        }
      }
    }
  }
  return absl::OkStatus();
}

// All ranks have the same list, so all agree whether to try.
absl::Status Links::ShareMemory() {
  const auto is_elsewhere = [this](const cluster::Address& address) {
    return address.host != options_.addresses[0].host;
  };
  if (size() == 1 || size() > SharedBuffers::kRanksMax ||
      std::any_of(options_.addresses.begin(), options_.addresses.end(), is_elsewhere)) {
    return absl::OkStatus();
  }
  const Operation operation = {"join", "the group", 0};
  // Why there is none does not matter: sockets do the same.
  struct Offer {
    uint64_t token = 0;
    uint64_t is_made = 0;
  };
  std::unique_ptr<SharedBuffersHost> host;
  std::unique_ptr<SharedBuffersGuest> guest;
  std::unique_ptr<SharedBuffers> shared;
  Offer offer;
  uint64_t is_ready = 0;
  std::vector<uint64_t> ready(size(), 1);  // Of the other ranks.
  const auto all_are_ready = [&] {
    return is_ready == 1 &&
           std::all_of(ready.begin(), ready.end(), [](uint64_t r) { return r == 1; });
  };
  const auto tell_all = [&] {
    std::vector<Transfer> transfers;
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank()) continue;
      transfers.push_back(SendTo(peer, &is_ready, sizeof is_ready));
      transfers.push_back(ReceiveFrom(peer, &ready[peer], sizeof(uint64_t)));
    }
    return Exchange(operation, transfers);
  };
  if (rank() == 0) {
    auto opened = SharedBuffersHost::Open(size());
    if (options_.shared_memory && opened.ok()) host = *std::move(opened);
    if (host != nullptr) offer = {host->token(), 1};
    std::vector<Transfer> transfers;
    for (int peer = 1; peer < size(); ++peer) {
      transfers.push_back(SendTo(peer, &offer, sizeof offer));
    }
    CAIRN_RETURN_IF_ERROR(Exchange(operation, transfers));
    is_ready = offer.is_made;
  } else {
    CAIRN_RETURN_IF_ERROR(Exchange(operation, {ReceiveFrom(0, &offer, sizeof offer)}));
    if (options_.shared_memory && offer.is_made == 1) {
      auto called = SharedBuffersGuest::Call(offer.token);
      if (called.ok()) guest = *std::move(called);
    }
    is_ready = guest != nullptr ? 1 : 0;
  }
  CAIRN_RETURN_IF_ERROR(tell_all());
  if (!all_are_ready()) return absl::OkStatus();
  if (rank() == 0) {
    host->HandOut();
    shared = host->buffers();
  }
  CAIRN_RETURN_IF_ERROR(tell_all());  // That it was handed out.
  if (rank() != 0) {
    auto received = guest->Receive(rank(), size());
    if (received.ok()) shared = *std::move(received);
    is_ready = received.ok() ? 1 : 0;
  }
  CAIRN_RETURN_IF_ERROR(tell_all());
  if (all_are_ready()) shared_ = std::move(shared);
  return absl::OkStatus();
}

std::string Links::Name(int rank) const {
  return absl::StrCat("rank ", rank, " (", options_.addresses[rank].ToString(), ")");
}

// -------------------------------------------------------------------------------------- failures

// Tells all others first: ranks that do not exchange data with the lost one would only see its
// neighbors go.
absl::Status Links::Fail(int lost, absl::Status status, int hanging) {
  if (!failure_.ok()) return failure_;
  lost_ = lost >= 0 ? lost : hanging;
  failure_ = std::move(status);
  News news;
  news.cause = absl::IsUnavailable(failure_)        ? News::kLost
               : absl::IsDeadlineExceeded(failure_) ? News::kHangs
                                                    : News::kMismatch;
  if (lost_ >= 0) news.rank = static_cast<uint32_t>(lost_);
  for (int rank = 0; rank < size(); ++rank) {
    if (rank == options_.rank || rank == lost || !peers_[rank].news.is_open()) continue;
    peers_[rank].news.SendAll(&news, sizeof news, kNewsTimeout).IgnoreError();
  }
  for (Peer& peer : peers_) peer = Peer();
  return failure_;
}

absl::Status Links::Lost(int peer, const Operation& operation, const std::string& why) {
  return Fail(peer, absl::UnavailableError(absl::StrCat(Name(peer), " was lost in ", operation.kind,
                                                        " of ", operation.name, ": ", why)));
}

absl::Status Links::Mismatch(int peer, const Operation& operation) {
  return absl::FailedPreconditionError(absl::StrCat(
      Name(peer), " is in another operation than this rank, which is in ", operation.kind, " of ",
      operation.name,
      ": all ranks must call the same operations, with tensors of the same types and sizes, in the "
      "same order"));
}

// News, or the end of a rank that leaves: that is an error only if something is expected of it.
absl::Status Links::ReadNews(int peer) {
  News news;
  const absl::Status read = peers_[peer].news.ReceiveAll(&news, sizeof news, kNewsTimeout);
  if (!read.ok()) {
    peers_[peer].news.Close();
    return absl::OkStatus();
  }
  const bool is_right = news.magic == kMagic &&
                        (news.rank < options_.addresses.size() || news.rank == News::kUnknown);
  const std::string says = absl::StrCat(", as rank ", peer, " says");
  const int named = is_right && news.rank != News::kUnknown ? static_cast<int>(news.rank) : -1;
  if (is_right && news.cause == News::kHangs) {
    return Fail(-1,
                absl::DeadlineExceededError(
                    absl::StrCat(named < 0 ? "a rank" : Name(named), " hangs", says)),
                named);
  }
  if (is_right && news.cause == News::kMismatch) {
    return Fail(-1, absl::FailedPreconditionError("ranks are in different operations" + says));
  }
  const int lost = named < 0 ? peer : named;
  return Fail(lost, absl::UnavailableError(absl::StrCat(Name(lost), " was lost", says)));
}

// What has arrived by now.
absl::Status Links::ReadAllNews() {
  std::vector<pollfd> entries;
  std::vector<int> news_of;
  for (int rank = 0; rank < size(); ++rank) {
    if (!peers_[rank].news.is_open()) continue;
    entries.push_back({peers_[rank].news.descriptor(), POLLIN, 0});
    news_of.push_back(rank);
  }
  poll(entries.data(), entries.size(), /*timeout=*/0);
  for (size_t i = 0; i < news_of.size(); ++i) {
    if (entries[i].revents != 0) CAIRN_RETURN_IF_ERROR(ReadNews(news_of[i]));
  }
  return absl::OkStatus();
}

// Reports a stall, and ends the group after the timeout.
absl::Status Links::CheckWait(const Operation& operation,
                              const std::function<std::vector<int>()>& awaited, Wait* wait) {
  const absl::Duration waited = absl::Now() - wait->since;
  const bool is_over = waited > options_.timeout;
  if (!is_over && (waited <= options_.stall + wait->reported || options_.on_stall == nullptr)) {
    return absl::OkStatus();
  }
  const std::vector<int> ranks = awaited();
  const std::string names = absl::StrJoin(
      ranks, ", ", [this](std::string* text, int rank) { absl::StrAppend(text, Name(rank)); });
  const std::string what = absl::StrCat(operation.kind, " of ", operation.name);
  if (is_over) {
    return Fail(
        -1,
        absl::DeadlineExceededError(absl::StrCat(
            what, ": nothing for ", absl::FormatDuration(options_.timeout), " from ", names)),
        ranks.size() == 1 ? ranks[0] : -1);
  }
  wait->reported = waited;
  options_.on_stall(absl::StrCat(what, " has waited ",
                                 absl::FormatDuration(absl::Trunc(waited, absl::Seconds(1))),
                                 " for ", names));
  return absl::OkStatus();
}

// ------------------------------------------------------------------------- through shared memory

SharedBuffers::Position Links::PositionIn(const Operation& operation) const {
  return {static_cast<uint32_t>(sequence_),
          static_cast<uint32_t>(operation.signature ^ operation.signature >> 32)};
}

absl::Status Links::BeginShared(const Operation& operation, uint32_t* first) {
  if (!failure_.ok()) return failure_;
  shared_->SetPosition(PositionIn(operation));
  *first = shared_steps_;
  return absl::OkStatus();
}

void Links::EndShared(uint32_t steps) {
  shared_steps_ += steps;
  ++sequence_;
}

absl::Status Links::AwaitShared(const Operation& operation, SharedBuffers::Stage stage,
                                uint32_t steps) {
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    if (!shared_->HasReached(peer, stage, steps)) {
      Wait wait = {absl::Now()};
      while (!shared_->WaitFor(peer, stage, steps, kSharedLook)) {
        CAIRN_RETURN_IF_ERROR(ReadAllNews());
        // A rank that leaves has finished its operations before.
        if (!peers_[peer].news.is_open() && !shared_->HasReached(peer, stage, steps)) {
          return Lost(peer, operation, "the connection was closed");
        }
        CAIRN_RETURN_IF_ERROR(CheckPositions(operation, peer, stage, steps));
        CAIRN_RETURN_IF_ERROR(CheckWait(
            operation, [peer] { return std::vector<int>{peer}; }, &wait));
      }
    }
    // It needs what this rank will reduce, so it is still in its operation.
    if (stage == SharedBuffers::kCopied && shared_->PositionOf(peer) != PositionIn(operation)) {
      return Fail(-1, Mismatch(peer, operation));
    }
  }
  return absl::OkStatus();
}

// Some operations use shared memory and others use sockets. Without this, ranks that are in
// different ones would wait for each other until the timeout.
absl::Status Links::CheckPositions(const Operation& operation, int shared_peer,
                                   SharedBuffers::Stage stage, uint32_t steps) {
  const SharedBuffers::Position own = PositionIn(operation);
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    const SharedBuffers::Position position = shared_->PositionOf(peer);
    const bool is_elsewhere =
        position.sequence == own.sequence && position.signature != own.signature;
    // Nobody finishes an operation in shared memory before all have begun it.
    const bool is_ahead = peer == shared_peer &&
                          static_cast<int32_t>(position.sequence - own.sequence) > 0 &&
                          !shared_->HasReached(peer, stage, steps);
    if (is_elsewhere || is_ahead) return Fail(-1, Mismatch(peer, operation));
  }
  return absl::OkStatus();
}

// ------------------------------------------------------------------------------- through sockets

absl::Status Links::Receive(const Operation& operation, Progress* progress, bool* moved) {
  Socket& socket = peers_[progress->transfer.peer].data;
  if (progress->header_done < sizeof(Header)) {
    char* const header = reinterpret_cast<char*>(&progress->header);
    CAIRN_ASSIGN_OR_RETURN(
        const size_t received,
        socket.ReceiveSome(header + progress->header_done, sizeof(Header) - progress->header_done));
    progress->header_done += received;
    *moved |= received > 0;
    if (progress->header_done < sizeof(Header)) return absl::OkStatus();
    const Header& header_in = progress->header;
    if (header_in.magic != kMagic || header_in.sequence != sequence_ ||
        header_in.signature != operation.signature || header_in.bytes != progress->transfer.bytes) {
      return Mismatch(progress->transfer.peer, operation);
    }
  }
  const Transfer& transfer = progress->transfer;
  while (progress->done < transfer.bytes) {
    const size_t left = transfer.bytes - progress->done;
    char* to = transfer.receive != nullptr ? static_cast<char*>(transfer.receive) + progress->done
                                           : progress->piece.data() + progress->in_piece;
    const size_t room = transfer.receive != nullptr
                            ? left
                            : std::min(left, progress->piece.size() - progress->in_piece);
    CAIRN_ASSIGN_OR_RETURN(const size_t received, socket.ReceiveSome(to, room));
    if (received == 0) return absl::OkStatus();
    *moved = true;
    progress->done += received;
    if (transfer.receive != nullptr) continue;
    progress->in_piece += received;
    if (progress->in_piece < progress->piece.size() && progress->done < transfer.bytes) continue;
    transfer.consume(progress->done - progress->in_piece, progress->piece.data(),
                     progress->in_piece);
    progress->in_piece = 0;
  }
  return absl::OkStatus();
}

absl::Status Links::Advance(const Operation& operation, Progress* progress, bool* moved) {
  if (!progress->transfer.sends) return Receive(operation, progress, moved);
  Socket& socket = peers_[progress->transfer.peer].data;
  while (!progress->complete()) {
    const bool in_header = progress->header_done < sizeof(Header);
    const char* const from =
        in_header ? reinterpret_cast<const char*>(&progress->header) + progress->header_done
                  : static_cast<const char*>(progress->transfer.send) + progress->done;
    const size_t left = in_header ? sizeof(Header) - progress->header_done
                                  : progress->transfer.bytes - progress->done;
    CAIRN_ASSIGN_OR_RETURN(const size_t sent, socket.SendSome(from, left));
    if (sent == 0) return absl::OkStatus();
    *moved = true;
    (in_header ? progress->header_done : progress->done) += sent;
  }
  return absl::OkStatus();
}

// Until one is ready, or there is news, which it reads, or it is time to look at the clock.
absl::Status Links::WaitForSockets(const Operation& operation, const std::vector<Progress>& all) {
  std::vector<pollfd> entries;
  std::vector<int> news_of;
  for (int rank = 0; rank < size(); ++rank) {
    if (!peers_[rank].news.is_open()) continue;
    entries.push_back({peers_[rank].news.descriptor(), POLLIN, 0});
    news_of.push_back(rank);
  }
  for (const Progress& progress : all) {
    if (!progress.is_next(all)) continue;
    const auto events = static_cast<short>(progress.transfer.sends ? POLLOUT : POLLIN);
    entries.push_back({peers_[progress.transfer.peer].data.descriptor(), events, 0});
  }
  const int ready = poll(entries.data(), entries.size(), absl::ToInt64Milliseconds(kLook));
  if (ready == 0 && shared_ != nullptr) {
    CAIRN_RETURN_IF_ERROR(CheckPositions(operation, -1, SharedBuffers::kCopied, 0));
  }
  for (size_t i = 0; i < news_of.size(); ++i) {
    if (entries[i].revents != 0) CAIRN_RETURN_IF_ERROR(ReadNews(news_of[i]));
  }
  return absl::OkStatus();
}

absl::Status Links::Exchange(const Operation& operation, absl::Span<const Transfer> transfers) {
  if (!failure_.ok()) return failure_;
  std::vector<Progress> all;
  all.reserve(transfers.size());
  for (const Transfer& transfer : transfers) {
    Progress& added = all.emplace_back();
    added.transfer = transfer;
    for (int i = static_cast<int>(all.size()) - 2; i >= 0 && added.before < 0; --i) {
      const Transfer& other = all[i].transfer;
      if (other.peer == transfer.peer && other.sends == transfer.sends) added.before = i;
    }
    if (transfer.sends) {
      added.header.sequence = sequence_;
      added.header.signature = operation.signature;
      added.header.bytes = transfer.bytes;
    } else if (transfer.receive == nullptr) {
      added.piece.resize(std::min(kPieceBytes, transfer.bytes));
    }
  }
  if (shared_ != nullptr) shared_->SetPosition(PositionIn(operation));
  Wait wait = {absl::Now()};
  const auto awaited = [&all] {
    std::vector<int> ranks;
    for (const Progress& progress : all) {
      const int peer = progress.transfer.peer;
      if (progress.complete() || std::find(ranks.begin(), ranks.end(), peer) != ranks.end()) {
        continue;
      }
      ranks.push_back(peer);
    }
    return ranks;
  };
  const auto is_open = [](const Progress& progress) { return !progress.complete(); };
  while (std::any_of(all.begin(), all.end(), is_open)) {
    bool moved = false;
    for (Progress& progress : all) {
      if (!progress.is_next(all)) continue;
      const absl::Status status = Advance(operation, &progress, &moved);
      if (status.ok()) continue;
      const int peer = progress.transfer.peer;
      if (!absl::IsUnavailable(status)) return Fail(-1, status);
      // It may have gone because it knows who was lost.
      if (peers_[peer].news.is_open()) CAIRN_RETURN_IF_ERROR(ReadNews(peer));
      return Lost(peer, operation, std::string(status.message()));
    }
    if (moved) {
      wait = {absl::Now()};
      continue;
    }
    CAIRN_RETURN_IF_ERROR(CheckWait(operation, awaited, &wait));
    CAIRN_RETURN_IF_ERROR(WaitForSockets(operation, all));
  }
  ++sequence_;
  return absl::OkStatus();
}

// ------------------------------------------------------------------------------------- survivors

absl::StatusOr<std::vector<int>> FindSurvivors(const LinksOptions& options, int lost,
                                               absl::Duration window) {
  const int size = static_cast<int>(options.addresses.size());
  const absl::Time deadline = absl::Now() + window;
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<Door> door,
                         Door::Open(options.addresses[static_cast<size_t>(options.rank)]));
  const Hello own = HelloOf(options, kSurvivors);
  std::vector<Socket> met(size);  // By rank. Each rank calls those below it.
  const auto all_met = [&] {
    for (int rank = 0; rank < size; ++rank) {
      if (rank != options.rank && rank != lost && !met[rank].is_open()) return false;
    }
    return true;
  };
  const auto is_right = [&](const Hello& hello) {
    return IsHello(hello, options) && hello.purpose == kSurvivors && IsOfGroup(hello, own) &&
           hello.generation == own.generation;
  };
  const auto meet = [&] {
    for (int rank = 0; rank < options.rank; ++rank) {
      if (met[rank].is_open()) continue;
      auto called = Socket::Connect(options.addresses[rank], kConnectTimeout);
      Hello hello;
      if (called.ok() && called->SendAll(&own, sizeof own, kHelloTimeout).ok() &&
          called->ReceiveAll(&hello, sizeof hello, kHelloTimeout).ok() && is_right(hello) &&
          static_cast<int>(hello.rank) == rank) {
        met[rank] = *std::move(called);
      }
    }
    while (std::optional<Socket> caller = door->Next(absl::Now() + kRetry)) {
      Hello hello;
      if (caller->ReceiveAll(&hello, sizeof hello, kHelloTimeout).ok() && is_right(hello) &&
          caller->SendAll(&own, sizeof own, kHelloTimeout).ok()) {
        met[hello.rank] = *std::move(caller);
      }
    }
  };
  std::vector<uint32_t> members(size, 0);
  const size_t list_bytes = members.size() * sizeof(uint32_t);
  // Not before then: a rank that was told by a lower one may be about to pass it on.
  absl::Time decides_at = absl::InfinitePast();
  // The ranks end their windows at different times, and one that decides waits after a loss.
  absl::Time hangs_at = deadline + window + 2 * kHelloTimeout;
  // Whether a rank has sent the list.
  const auto is_told = [&] {
    char* const list = reinterpret_cast<char*>(members.data());
    for (int rank = 0; rank < size; ++rank) {
      if (!met[rank].is_open()) continue;
      const absl::StatusOr<size_t> begun = met[rank].ReceiveSome(list, list_bytes);
      if (begun.ok() && *begun == 0) continue;
      if (begun.ok() &&
          met[rank].ReceiveAll(list + *begun, list_bytes - *begun, kHelloTimeout).ok()) {
        return true;
      }
      // It has died since it answered.
      met[rank].Close();
      if (rank < options.rank) decides_at = absl::Now() + kHelloTimeout;
    }
    return false;
  };
  // The lowest rank decides. All pass on what it says: it may die before it has told everyone. If
  // it dies or hangs before it has told anyone, the next one decides.
  while (!is_told()) {
    if (!all_met() && absl::Now() < deadline) {
      meet();
      continue;
    }
    int lowest = 0;
    while (lowest < options.rank && !met[lowest].is_open()) ++lowest;
    if (lowest == options.rank && absl::Now() >= decides_at) {
      for (int rank = 0; rank < size; ++rank) {
        members[rank] = rank == options.rank || met[rank].is_open() ? 1 : 0;
      }
      break;
    }
    if (lowest < options.rank && absl::Now() > hangs_at) {
      met[lowest].Close();
      decides_at = absl::Now() + kHelloTimeout;
      hangs_at = absl::Now() + 3 * kHelloTimeout;
    }
    absl::SleepFor(kListPause);
  }
  if (members[options.rank] != 1) {
    return absl::UnavailableError(absl::StrCat("the others went on without rank ", options.rank));
  }
  for (int rank = 0; rank < size; ++rank) {
    if (!met[rank].is_open() || members[rank] != 1) continue;
    met[rank].SendAll(members.data(), list_bytes, kHelloTimeout).IgnoreError();
  }
  std::vector<int> survivors;
  for (int rank = 0; rank < size; ++rank) {
    if (members[rank] == 1) survivors.push_back(rank);
  }
  return survivors;
}

}  // namespace cairn::collectives
