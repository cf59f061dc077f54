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

constexpr uint32_t kMagic = 0x314C4F43;  // "COL1"
constexpr absl::Duration kHelloTimeout = absl::Seconds(1);
constexpr absl::Duration kConnectTimeout = absl::Seconds(1);
constexpr absl::Duration kRetry = absl::Milliseconds(50);
constexpr absl::Duration kNewsTimeout = absl::Seconds(1);
constexpr size_t kPieceBytes = 256 << 10;

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

  uint32_t magic = kMagic;
  uint32_t cause = kLost;
  uint32_t rank = 0;  // The lost one; of the other causes the one that says so.
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
      changed_.WaitFor(&mutex_, absl::ToChronoNanoseconds(left));
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

  bool complete() const { return header_done == sizeof(Header) && done == transfer.bytes; }
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
    if (!IsOfGroup(hello, own)) return OtherGroup(options, hello);
    if (hello.generation != own.generation || static_cast<int>(hello.rank) <= options.rank)
      continue;
    Peer& peer = links->peers_[hello.rank];
    (hello.purpose == kData ? peer.data : peer.news) = *std::move(caller);
  }
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
        if (answered && !IsOfGroup(hello, own)) return OtherGroup(options_, hello);
        if (answered && hello.generation == own.generation &&
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

std::string Links::Name(int rank) const {
  return absl::StrCat("rank ", rank, " (", options_.addresses[rank].ToString(), ")");
}

// ------------------------------------------------------------------------------------- exchanges

// Tells all others first: ranks that do not exchange data with the lost one would only see its
// neighbors go.
absl::Status Links::Fail(int lost, absl::Status status) {
  if (!failure_.ok()) return failure_;
  lost_ = lost;
  failure_ = std::move(status);
  News news;
  news.cause = absl::IsUnavailable(failure_)        ? News::kLost
               : absl::IsDeadlineExceeded(failure_) ? News::kHangs
                                                    : News::kMismatch;
  news.rank = static_cast<uint32_t>(lost < 0 ? options_.rank : lost);
  for (int rank = 0; rank < size(); ++rank) {
    if (rank == options_.rank || rank == lost || !peers_[rank].news.is_open()) continue;
    peers_[rank].news.SendAll(&news, sizeof news, kNewsTimeout).IgnoreError();
  }
  for (Peer& peer : peers_) peer = Peer();
  return failure_;
}

// News, or the end of a rank that leaves: that is an error only if something is expected of it.
absl::Status Links::ReadNews(int peer) {
  News news;
  const absl::Status read = peers_[peer].news.ReceiveAll(&news, sizeof news, kNewsTimeout);
  if (!read.ok()) {
    peers_[peer].news.Close();
    return absl::OkStatus();
  }
  const bool is_right = news.magic == kMagic && news.rank < options_.addresses.size();
  const std::string says = absl::StrCat(", as rank ", peer, " says");
  if (is_right && news.cause == News::kHangs) {
    // Which one is not certain: those that wait for it are silent, too.
    return Fail(-1, absl::DeadlineExceededError("a rank hangs" + says));
  }
  if (is_right && news.cause == News::kMismatch) {
    return Fail(-1, absl::FailedPreconditionError("ranks are in different operations" + says));
  }
  const int lost = is_right ? static_cast<int>(news.rank) : peer;
  return Fail(lost, absl::UnavailableError(absl::StrCat(Name(lost), " was lost", says)));
}

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
      return absl::FailedPreconditionError(absl::StrCat(
          Name(progress->transfer.peer), " is in another operation than this rank, which is in ",
          operation.kind, " of ", operation.name,
          ": all ranks must call the same operations, with "
          "tensors of the same types and sizes, in the same order"));
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

std::string Links::AwaitedText(const std::vector<Progress>& all) const {
  std::vector<std::string> names;
  for (const Progress& progress : all) {
    const std::string name = Name(progress.transfer.peer);
    if (progress.complete() || std::find(names.begin(), names.end(), name) != names.end()) continue;
    names.push_back(name);
  }
  return absl::StrJoin(names, ", ");
}

absl::Status Links::Exchange(const Operation& operation, absl::Span<const Transfer> transfers) {
  if (!failure_.ok()) return failure_;
  std::vector<Progress> all;
  for (const Transfer& transfer : transfers) {
    Progress& added = all.emplace_back();
    added.transfer = transfer;
    if (transfer.sends) {
      added.header.sequence = sequence_;
      added.header.signature = operation.signature;
      added.header.bytes = transfer.bytes;
    } else if (transfer.receive == nullptr) {
      added.piece.resize(std::min(kPieceBytes, transfer.bytes));
    }
  }
  absl::Time moved_at = absl::Now();
  absl::Duration said_after;
  const auto is_open = [](const Progress& progress) { return !progress.complete(); };
  while (std::any_of(all.begin(), all.end(), is_open)) {
    bool moved = false;
    for (Progress& progress : all) {
      if (progress.complete()) continue;
      const absl::Status status = Advance(operation, &progress, &moved);
      if (status.ok()) continue;
      const int peer = progress.transfer.peer;
      if (!absl::IsUnavailable(status)) return Fail(-1, status);
      // It may have gone because it knows who was lost.
      if (peers_[peer].news.is_open()) CAIRN_RETURN_IF_ERROR(ReadNews(peer));
      return Fail(peer, absl::UnavailableError(absl::StrCat(Name(peer), " was lost in ",
                                                            operation.kind, " of ", operation.name,
                                                            ": ", std::string(status.message()))));
    }
    const absl::Time now = absl::Now();
    if (moved) {
      moved_at = now;
      said_after = absl::ZeroDuration();
      continue;
    }
    const absl::Duration waited = now - moved_at;
    if (waited > options_.timeout) {
      return Fail(-1, absl::DeadlineExceededError(absl::StrCat(
                          operation.kind, " of ", operation.name, ": nothing for ",
                          absl::FormatDuration(options_.timeout), " from ", AwaitedText(all))));
    }
    if (waited > options_.stall + said_after && options_.on_stall != nullptr) {
      said_after = waited;
      options_.on_stall(absl::StrCat(operation.kind, " of ", operation.name, " has waited ",
                                     absl::FormatDuration(absl::Trunc(waited, absl::Seconds(1))),
                                     " for ", AwaitedText(all)));
    }
    // Sleeps until a socket is ready, or it is time to look at the clock.
    std::vector<pollfd> entries;
    std::vector<int> news_of;
    for (int rank = 0; rank < size(); ++rank) {
      if (!peers_[rank].news.is_open()) continue;
      entries.push_back({peers_[rank].news.descriptor(), POLLIN, 0});
      news_of.push_back(rank);
    }
    for (const Progress& progress : all) {
      if (progress.complete()) continue;
      const auto events = static_cast<short>(progress.transfer.sends ? POLLOUT : POLLIN);
      entries.push_back({peers_[progress.transfer.peer].data.descriptor(), events, 0});
    }
    poll(entries.data(), entries.size(), /*timeout=*/100);
    for (size_t i = 0; i < news_of.size(); ++i) {
      if (entries[i].revents != 0) CAIRN_RETURN_IF_ERROR(ReadNews(news_of[i]));
    }
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
  while (!all_met() && absl::Now() < deadline) {
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
  }
  // The lowest rank decides, and tells all that it has met.
  int lowest = 0;
  while (lowest < options.rank && !met[lowest].is_open()) ++lowest;
  std::vector<uint32_t> members(size, 0);
  if (lowest == options.rank) {
    for (int rank = 0; rank < size; ++rank) {
      members[rank] = rank == options.rank || met[rank].is_open() ? 1 : 0;
    }
    for (Socket& socket : met) {
      if (!socket.is_open()) continue;
      socket.SendAll(members.data(), size * sizeof(uint32_t), kHelloTimeout).IgnoreError();
    }
  } else {
    const absl::Status told =
        met[lowest].ReceiveAll(members.data(), size * sizeof(uint32_t), window + kHelloTimeout);
    if (!told.ok() || members[options.rank] != 1) {
      return absl::UnavailableError(
          absl::StrCat("rank ", lowest, " went on without rank ", options.rank));
    }
  }
  std::vector<int> survivors;
  for (int rank = 0; rank < size; ++rank) {
    if (members[rank] == 1) survivors.push_back(rank);
  }
  return survivors;
}

}  // namespace cairn::collectives
