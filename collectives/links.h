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
#include "collectives/shared_buffers.h"
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
  // Off on one rank: off on all.
  bool shared_memory = true;
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
  void set_timeout(absl::Duration timeout) { options_.timeout = timeout; }

  // Makes all transfers at the same time; those of one direction with the same peer one after the
  // other. Every rank calls the same exchanges in the same order. Errors end the group, and all
  // ranks get one: Unavailable: a rank was lost, which the message names; see lost().
  // DeadlineExceeded: a rank hangs. FailedPrecondition: ranks are in different operations.
  absl::Status Exchange(const Operation& operation, absl::Span<const Transfer> transfers);

  // The memory that the ranks share; null if they are on several hosts, or there are too many, or
  // it is switched off. All ranks have it, or none has.
  SharedBuffers* shared() const { return shared_.get(); }
  // An operation in shared memory, in place of an exchange; every rank begins it. Between Begin and
  // End its steps count from `*first`.
  absl::Status BeginShared(const Operation& operation, uint32_t* first);
  void EndShared(uint32_t steps);
  // Waits until all other ranks have finished `stage` of the steps before `steps`. Errors are those
  // of Exchange.
  absl::Status AwaitShared(const Operation& operation, SharedBuffers::Stage stage, uint32_t steps);

  // The rank that was lost first or hangs, as far as this one knows; -1: none.
  int lost() const { return lost_; }
  // The error that ended the group.
  const absl::Status& failure() const { return failure_; }

 private:
  struct Peer {
    Socket data;
    Socket news;
  };
  struct Progress;
  // Of the time without any progress.
  struct Wait {
    absl::Time since = absl::InfinitePast();
    absl::Duration reported;
  };

  explicit Links(LinksOptions options) : options_(std::move(options)), peers_(size()) {}
  absl::Status CallLowerRanks(absl::Time deadline);
  absl::Status ShareMemory();
  // `hanging`: the rank that DeadlineExceeded means, which is told, too; -1: not certain.
  absl::Status Fail(int lost, absl::Status status, int hanging = -1);
  absl::Status Lost(int peer, const Operation& operation, const std::string& why);
  absl::Status Mismatch(int peer, const Operation& operation);
  absl::Status ReadNews(int peer);
  absl::Status Advance(const Operation& operation, Progress* progress, bool* moved);
  absl::Status Receive(const Operation& operation, Progress* progress, bool* moved);
  absl::Status ReadAllNews();
  absl::Status WaitForSockets(const Operation& operation, const std::vector<Progress>& all);
  absl::Status CheckWait(const Operation& operation,
                         const std::function<std::vector<int>()>& awaited, Wait* wait);
  absl::Status CheckPositions(const Operation& operation, int shared_peer,
                              SharedBuffers::Stage stage, uint32_t steps);
  SharedBuffers::Position PositionIn(const Operation& operation) const;
  std::string Name(int rank) const;

  LinksOptions options_;
  std::vector<Peer> peers_;  // By rank; that of this rank is not used.
  uint64_t sequence_ = 0;    // Of exchanges.
  std::unique_ptr<SharedBuffers> shared_;
  uint32_t shared_steps_ = 0;  // Of all operations so far.
  int lost_ = -1;
  absl::Status failure_;
};

// What is left of a group that lost ranks finds together: the ranks that answer within `window`, or
// as soon as all but `lost` do. Called by each of them. The lowest rank has the say, and all that
// it tells pass it on. So all that return a list return the same one, unless ranks die or hang for
// a second while they do so. A rank joins with one list only, so two groups of more than half of
// the ranks cannot form. A rank that dies after it has answered may be in the list. Unavailable:
// the others went on without this one.
absl::StatusOr<std::vector<int>> FindSurvivors(const LinksOptions& options, int lost,
                                               absl::Duration window);

}  // namespace cairn::collectives

#endif  // CAIRN_COLLECTIVES_LINKS_H_
