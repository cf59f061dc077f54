#ifndef CAIRN_TESTS_CLI_PROFILE_EXAMPLE_PROFILE_H_
#define CAIRN_TESTS_CLI_PROFILE_EXAMPLE_PROFILE_H_

#include "google/protobuf/text_format.h"
#include "proto/coordinator.pb.h"

namespace cairn::cli {

// One step of worker 3, 100 ns long, and two updates on ps 0, whose clock is 1000 ns slow.
inline proto::ProfileReply ExampleProfile() {
  proto::ProfileReply profile;
  google::protobuf::TextFormat::ParseFromString(
      R"(
        job_id: 1
        tasks {
          role: WORKER index: 3 steps: 1 unix_nanoseconds: 5000
          loaded_batches: 2 reading_nanoseconds: 70 decoding_nanoseconds: 150
          names { name: "data" kind: "phase" }
          names { name: "wait" kind: "phase" }
          names { name: "pull" kind: "phase" }
          names { name: "forward" kind: "phase" }
          names { name: "backward" kind: "phase" }
          names { name: "push" kind: "phase" }
          names { name: "input" kind: "forward" }
          names { name: "dense" kind: "forward" }
          names { name: "input" kind: "backward" }
          names { name: "dense" kind: "backward" }
          names { name: "loss" kind: "forward" }
          spans { name: 0 begin_nanoseconds: 100 nanoseconds: 10 batch: 7 }
          spans { name: 1 begin_nanoseconds: 110 nanoseconds: 5 batch: 7 }
          spans { name: 2 begin_nanoseconds: 115 nanoseconds: 5 batch: 7 }
          spans { name: 7 begin_nanoseconds: 120 nanoseconds: 20 batch: 7 }
          spans { name: 10 begin_nanoseconds: 140 nanoseconds: 5 batch: 7 }
          spans { name: 3 begin_nanoseconds: 120 nanoseconds: 30 batch: 7 }
          spans { name: 9 begin_nanoseconds: 150 nanoseconds: 25 batch: 7 }
          spans { name: 5 begin_nanoseconds: 180 nanoseconds: 10 batch: 7 }
          spans { name: 4 begin_nanoseconds: 150 nanoseconds: 40 batch: 7 }
          spans { name: 5 begin_nanoseconds: 200 nanoseconds: 0 batch: 7 }
        }
        tasks {
          role: PS index: 0 unix_nanoseconds: 6000
          names { name: "apply" kind: "phase" }
          spans { name: 0 begin_nanoseconds: 0 nanoseconds: 10 batch: 7 }
          spans { name: 0 begin_nanoseconds: 5 nanoseconds: 20 batch: -1 thread: 1 }
        })",
      &profile);
  return profile;
}

}  // namespace cairn::cli

#endif  // CAIRN_TESTS_CLI_PROFILE_EXAMPLE_PROFILE_H_
