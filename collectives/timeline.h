#ifndef CAIRN_COLLECTIVES_TIMELINE_H_
#define CAIRN_COLLECTIVES_TIMELINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace cairn::collectives {

// Records what a rank does, for chrome://tracing. The names of activities are Horovod's. Not
// thread-safe.
class Timeline {
 public:
  explicit Timeline(int rank) : rank_(rank) {}

  // An activity for the lifetime of this object.
  class Span {
   public:
    Span(Timeline* timeline, const char* activity, const std::string& tensor);
    ~Span();
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    Timeline* const timeline_;
    const char* const activity_;
    const std::string tensor_;
    const absl::Time begin_;
  };

  // An activity from `begin` to `end`, which may overlap others.
  void Add(const char* activity, const std::string& tensor, absl::Time begin, absl::Time end);

  // Writes the newest activities, at most a million. Prints why if that fails.
  void Write(const std::string& file) const;

 private:
  struct Event {
    const char* activity = "";
    std::string tensor;
    int64_t begin_us = 0;  // Since 1970, so that the files of all ranks fit together.
    int64_t duration_us = 0;
  };

  const int rank_;
  std::vector<Event> events_;  // A ring buffer once it is full.
  size_t next_ = 0;
};

}  // namespace cairn::collectives

#endif  // CAIRN_COLLECTIVES_TIMELINE_H_
