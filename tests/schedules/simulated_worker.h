#ifndef CAIRN_TESTS_SCHEDULES_SIMULATED_WORKER_H_
#define CAIRN_TESTS_SCHEDULES_SIMULATED_WORKER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "parameters/blocks/block.h"
#include "tests/schedules/simulated_process.h"
#include "tests/schedules/simulated_ps.h"
#include "worker/work_state.h"

namespace cairn::schedules {

// The real work state, with a trainer whose steps take some time and whose requests to the ps are
// repeated until they are answered.
class SimulatedWorker final : public SimulatedProcess {
 public:
  SimulatedWorker(SimulatedWorld* world, SimulatedCoordinator* coordinator, uint32_t index,
                  std::deque<SimulatedPs>* ps)
      : SimulatedProcess(world, coordinator, proto::WORKER, index), ps_(*ps) {}

  ~SimulatedWorker() override { DropRequests(); }

 private:
  struct Request : BlockRequest {
    uint64_t instance = 0;  // Of this worker.
    bool buffered = false;  // The gradient has been buffered: only the answer is missing.
    std::function<void(parameters::BlockReply)> done;
  };
  using RequestPtr = std::shared_ptr<Request>;
  // The values for one batch; as worker::ValuePuller requests them.
  struct Pulling {
    struct Share {
      std::deque<uint32_t> unsent;
      size_t in_flight = 0;
      size_t in_flight_max = 0;
    };
    int64_t batch = 0;
    uint64_t generation = 0;
    bool early = false;
    std::vector<Share> shares;  // By ps.
    std::vector<RequestPtr> requests;
    size_t replies = 0;
    bool applied = false;
    bool ended = false;
  };

  void OnStart() override;
  void OnDeath() override { DropRequests(); }
  void OnDisconnected() override { state_->OnDisconnected(); }
  void FillJoin(proto::Join* join) override { state_->FillJoin(join); }
  void FillHeartbeat(proto::Heartbeat* heartbeat) override;
  void Handle(const proto::Command& command) override;
  void SendMessages();

  // ---- the trainer
  void NextItem();
  void Step(const worker::WorkItem& item);
  void BeginStep(int64_t batch);
  void Pull(int64_t batch);
  // Whether its last push will say that the values of the batch are visible.
  bool MayPullEarly(int64_t batch) const;
  void Compute(int64_t batch, bool early);
  void Push(int64_t batch);
  void PushHeld();
  void EndStep();
  void ReturnBatch(int64_t batch);
  void SendPulls(const std::shared_ptr<Pulling>& pulling);
  void OnPulled(const std::shared_ptr<Pulling>& pulling, uint32_t block,
                const parameters::BlockReply& reply);
  void WaitOrAbandon(const std::shared_ptr<Pulling>& pulling);

  // ---- requests
  RequestPtr Ask(BlockRequest what, std::function<void(parameters::BlockReply)> done);
  // Sends the request, and again until it is answered.
  void Transmit(const RequestPtr& request);
  void OnAnswer(const RequestPtr& request, parameters::BlockReply reply);
  void GenerationIsOver(uint64_t generation);
  void DropRequests();
  // An early pull is for the ps of the worker's process.
  SimulatedPs* PsOf(const BlockRequest& request) {
    return &ps_[(request.early ? index() : request.block) % ps_.size()];
  }

  std::deque<SimulatedPs>& ps_;
  std::unique_ptr<worker::WorkState> state_;
  worker::JobKey key_;
  bool busy_ = false;                   // The trainer has an item.
  std::multiset<int64_t> open_pushes_;  // Batches.
  int64_t last_pushed_ = -1;            // The first batch of the last update with a push.
  bool failed_ = false;                 // A request was refused in this generation.
  std::set<int64_t> held_;              // Batches that were computed on early values.
  std::set<RequestPtr> requests_;       // Without their last reply.
};

}  // namespace cairn::schedules

#endif  // CAIRN_TESTS_SCHEDULES_SIMULATED_WORKER_H_
