#ifndef CAIRN_COLLECTIVES_LINKS_H_
#define CAIRN_COLLECTIVES_LINKS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cluster/address.h"
#include "collectives/socket.h"

namespace cairn::collectives {

struct LinksOptions {
  std::vector<cluster::Address> addresses;  // Of all ranks.
  int rank = 0;
  uint64_t generation = 0;  // Of the group: ranks of another one are refused.
  absl::Duration join_timeout = absl::Seconds(60);
  // An exchange in which a rank sends and reads nothing for so long fails.
  absl::Duration timeout = absl::Minutes(5);
  absl::Duration stall = absl::Seconds(60);
  // Gets a line if an exchange waits for longer than `stall`. May be null.
  std::function<void(const std::string&)> on_stall;
};

// What the ranks must agree on before they exchange data.
struct Operation {
  const char* kind = "";   // "all_reduce".
  std::string name;        // Of the tensor; in errors.
  uint64_t signature = 0;  // Of its type, size and arguments; must be equal on all ranks.
};

// One direction of an exchange with a peer: one of the three is set, unless there are no bytes.
struct Transfer {
  int peer = 0;
  bool sends = false;
  size_t bytes = 0;
  const void* send = nullptr;
  void* receive = nullptr;
  // Receives into a small buffer that stays in the cache, and gets it piece by piece. All pieces
  // but the last have a multiple of 8 bytes.
  std::function<void(size_t offset, const void* piece, size_t bytes)> consume = nullptr;
};

inline Transfer SendTo(int peer, const void* data, size_t bytes) {
  return {.peer = peer, .sends = true, .bytes = bytes, .send = data};
}
inline Transfer ReceiveFrom(int peer, void* data, size_t bytes) {
  return {.peer = peer, .bytes = bytes, .receive = data};
}

// Connections from one rank to all others: one for data and one for news of lost ranks. Not
// thread-safe.
class Links {
 public:
  // Returns when all ranks are connected. A rank connects to those below it and is called by those
  // above. DeadlineExceeded: names the ranks that are missing. InvalidArgument: a rank has another
  // list of addresses. AlreadyExists: the port is in use.
  static absl::StatusOr<std::unique_ptr<Links>> Connect(const LinksOptions& options);

  int rank() const { return options_.rank; }
  int size() const { return static_cast<int>(options_.addresses.size()); }
  const LinksOptions& options() const { return options_; }

  // Makes all transfers at the same time, at most one send and one receipt with each peer. Every
  // rank calls the same exchanges in the same order. Errors end the group, and all ranks get one:
  // Unavailable: a rank was lost, which the message names; see lost(). DeadlineExceeded: a rank
  // hangs. FailedPrecondition: ranks are in different operations.
  absl::Status Exchange(const Operation& operation, absl::Span<const Transfer> transfers);

  // The rank that was lost first, as far as this one knows; -1: none.
  int lost() const { return lost_; }
  // The error that ended the group.
  const absl::Status& failure() const { return failure_; }

 private:
  struct Peer {
    Socket data;
    Socket news;
  };
  struct Progress;

  explicit Links(LinksOptions options) : options_(std::move(options)), peers_(size()) {}
  absl::Status CallLowerRanks(absl::Time deadline);
  absl::Status Fail(int lost, absl::Status status);
  absl::Status ReadNews(int peer);
  absl::Status Advance(const Operation& operation, Progress* progress, bool* moved);
  absl::Status Receive(const Operation& operation, Progress* progress, bool* moved);
  std::string Name(int rank) const;
  std::string AwaitedText(const std::vector<Progress>& all) const;

  const LinksOptions options_;
  std::vector<Peer> peers_;  // By rank; that of this rank is not used.
  uint64_t sequence_ = 0;    // Of exchanges.
  int lost_ = -1;
  absl::Status failure_;
};

// What is left of a group that lost ranks finds together: the ranks that answer within `window`, or
// as soon as all but `lost` do. Called by each of them; all that return a list return the same one,
// in which the lowest rank has the say. Unavailable: the others went on without this one.
absl::StatusOr<std::vector<int>> FindSurvivors(const LinksOptions& options, int lost,
                                               absl::Duration window);

}  // namespace cairn::collectives

#endif  // CAIRN_COLLECTIVES_LINKS_H_
