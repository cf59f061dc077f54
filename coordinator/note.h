#ifndef CAIRN_COORDINATOR_NOTE_H_
#define CAIRN_COORDINATOR_NOTE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "common/logging.h"
#include "coordinator/event_time.h"
#include "proto/journal.pb.h"

namespace cairn::coordinator {

// The number of notes kept per job; older ones are dropped. Clients show notes as they come.
inline constexpr int kNotesMax = 1000;

// Adds a line about an event, for clients that follow the job. It survives once `run` is journaled.
inline void AddNote(uint64_t job_id, std::string line, EventTime now, proto::RunRecord* run) {
  CAIRN_LOG_INFO("job", "job", job_id, "note", line);
  proto::Note* note = run->add_notes();
  note->set_unix_seconds(now.unix_seconds);
  note->set_text(std::move(line));
  const int surplus = run->notes_size() - kNotesMax;
  if (surplus > 0) run->mutable_notes()->DeleteSubrange(0, surplus);
}

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_NOTE_H_
