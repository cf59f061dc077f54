#ifndef CAIRN_COORDINATOR_NOTE_H_
#define CAIRN_COORDINATOR_NOTE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "common/logging.h"
#include "proto/journal.pb.h"

namespace cairn::coordinator {

// So many notes of a job are kept, the newest ones: clients show them as they come.
inline constexpr int kNotesMax = 1000;

// An event of a job worth a line to whoever follows; it lasts when `run` is journalled.
inline void AddNote(uint64_t job_id, std::string line, proto::RunRecord* run) {
  CAIRN_LOG_INFO("job", "job", job_id, "note", line);
  run->add_notes(std::move(line));
  const int surplus = run->notes_size() - kNotesMax;
  if (surplus > 0) run->mutable_notes()->DeleteSubrange(0, surplus);
}

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_NOTE_H_
