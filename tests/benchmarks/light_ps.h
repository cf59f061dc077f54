#ifndef CAIRN_TESTS_BENCHMARKS_LIGHT_PS_H_
#define CAIRN_TESTS_BENCHMARKS_LIGHT_PS_H_

#include <cstdint>
#include <string>

#include "common/mutex.h"
#include "parameters/blocks/push_ledger.h"
#include "tests/benchmarks/light_session.h"

namespace cairn::benchmarks {

// The batches that have been applied, on all ps at once. Thread-safe.
class SharedLedger {
 public:
  void Apply(int64_t batch);
  proto::LedgerState State();
  // How many batches were applied again.
  int64_t duplicates();

 private:
  Mutex mutex_;
  parameters::PushLedger ledger_ ABSL_GUARDED_BY(mutex_);
  int64_t duplicates_ ABSL_GUARDED_BY(mutex_) = 0;
};

// A ps without values: it answers the coordinator's commands, with the ledger that the workers of
// this process fill. Thread-safe.
class LightPs {
 public:
  // `ledger` must outlive it.
  LightPs(const std::string& coordinator, uint32_t index, SharedLedger* ledger);

  void Tick() { session_.Tick(); }
  bool joined() { return session_.joined(); }

 private:
  void Handle(const proto::Command& command, proto::TaskMessage* answer);
  proto::LedgerReply Ledger();

  const uint32_t index_;
  SharedLedger& ledger_;
  // Under the session's lock.
  uint64_t job_id_ = 0;
  uint64_t generation_ = 0;

  LightSession session_;  // Last: its callbacks use all of the above.
};

}  // namespace cairn::benchmarks

#endif  // CAIRN_TESTS_BENCHMARKS_LIGHT_PS_H_
