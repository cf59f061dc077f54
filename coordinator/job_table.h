#ifndef CAIRN_COORDINATOR_JOB_TABLE_H_
#define CAIRN_COORDINATOR_JOB_TABLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/job.h"

namespace cairn::coordinator {

// All jobs of the cluster, by number and by name. A cluster may have had a great many jobs, so only
// all() and errors visit those that are over. Not thread-safe.
class JobTable {
 public:
  // Its number must be new. The pointer is valid until the job is deleted.
  Job* Add(std::unique_ptr<Job> job);
  void Delete(uint64_t id);
  // The job was over and has been reopened.
  void Reopened(Job* job) { open_[job->id()] = job; }

  // Oldest first.
  const std::map<uint64_t, std::unique_ptr<Job>>& all() const { return jobs_; }
  // Those that are not over, oldest first.
  const std::map<uint64_t, Job*>& open();

  // Null: there is none.
  Job* Find(uint64_t id) const;
  // The newest job of this name that was not refused; null: there is none.
  Job* NewestOfName(const std::string& name) const;
  // `reference`: the number of a job, or a name. Of several jobs of the name it is the newest that
  // was not refused, else the newest. NotFound names those that there are.
  absl::StatusOr<Job*> Lookup(const std::string& reference) const;
  // FailedPrecondition: `reference`, which resolves to `job`, is also the name of other jobs.
  absl::Status CheckUnambiguous(const Job& job, const std::string& reference) const;

 private:
  std::map<uint64_t, std::unique_ptr<Job>> jobs_;
  std::map<uint64_t, Job*> open_;  // All jobs that are not over, and some that are.
  std::map<std::string, std::set<uint64_t>> ids_of_name_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_JOB_TABLE_H_
