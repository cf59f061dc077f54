#include "coordinator/job_table.h"

#include <charconv>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/status_macros.h"
#include "storage/job_records.h"

namespace cairn::coordinator {

Job* JobTable::Add(std::unique_ptr<Job> job) {
  Job* const added = job.get();
  ids_of_name_[added->record().job().name()].insert(added->id());
  open_[added->id()] = added;
  const bool is_new = jobs_.emplace(added->id(), std::move(job)).second;
  CAIRN_CHECK(is_new);
  return added;
}

void JobTable::Delete(uint64_t id) {
  const auto job = jobs_.find(id);
  if (job == jobs_.end()) return;
  const auto named = ids_of_name_.find(job->second->record().job().name());
  named->second.erase(id);
  if (named->second.empty()) ids_of_name_.erase(named);
  open_.erase(id);
  jobs_.erase(job);
}

const std::map<uint64_t, Job*>& JobTable::open() {
  std::erase_if(open_, [](const auto& entry) { return entry.second->over(); });
  return open_;
}

Job* JobTable::Find(uint64_t id) const {
  const auto job = jobs_.find(id);
  return job == jobs_.end() ? nullptr : job->second.get();
}

Job* JobTable::NewestOfName(const std::string& name) const {
  const auto named = ids_of_name_.find(name);
  if (named == ids_of_name_.end()) return nullptr;
  for (auto id = named->second.rbegin(); id != named->second.rend(); ++id) {
    Job* const job = Find(*id);
    if (!job->refused()) return job;
  }
  return nullptr;
}

absl::StatusOr<Job*> JobTable::Lookup(const std::string& reference) const {
  uint64_t number = 0;
  const char* const end = reference.data() + reference.size();
  if (std::from_chars(reference.data(), end, number).ptr == end) {
    if (Job* const job = Find(number)) return job;
  }
  std::vector<storage::JobName> names;
  const auto add = [&](const Job& job) {
    names.push_back({job.id(), job.record().job().name(), job.refused()});
  };
  const auto named = ids_of_name_.find(reference);
  if (named != ids_of_name_.end()) {
    for (const uint64_t id : named->second) add(*Find(id));
  } else {
    for (const auto& [id, job] : jobs_) add(*job);
  }
  CAIRN_ASSIGN_OR_RETURN(const uint64_t id, storage::ResolveJob(names, reference));
  return Find(id);
}

absl::Status JobTable::CheckUnambiguous(const Job& job, const std::string& reference) const {
  // It is a number.
  if (reference == absl::StrCat(job.id()) || reference != job.record().job().name()) {
    return absl::OkStatus();
  }
  std::vector<uint64_t> candidates;
  for (const uint64_t id : ids_of_name_.at(reference)) {
    if (!Find(id)->refused() || job.refused()) candidates.push_back(id);
  }
  if (candidates.size() == 1) return absl::OkStatus();
  const std::string last = absl::StrCat(" and ", candidates.back());
  candidates.pop_back();
  return absl::FailedPreconditionError(absl::StrCat("jobs ", absl::StrJoin(candidates, ", "), last,
                                                    " have the name '", reference,
                                                    "'; say which by its number"));
}

}  // namespace cairn::coordinator
