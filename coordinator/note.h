#ifndef CAIRN_COORDINATOR_NOTE_H_
#define CAIRN_COORDINATOR_NOTE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "common/logging.h"
#include "proto/journal.pb.h"

namespace cairn::coordinator {

// Clients show a job's notes as they come; beyond so many nobody reads.
inline constexpr int kNotesMax = 1000;

// An event of a job worth a line to whoever follows; it lasts when `run` is journalled.
inline void AddNote(uint64_t job_id, std::string line, proto::RunRecord* run) {
  CAIRN_LOG_INFO("job", "job", job_id, "note", line);
  if (run->notes_size() < kNotesMax) run->add_notes(std::move(line));
}

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_NOTE_H_
