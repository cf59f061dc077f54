#ifndef CAIRN_TESTS_END_TO_END_ADAM_JOB_H_
#define CAIRN_TESTS_END_TO_END_ADAM_JOB_H_

#include <cstdint>
#include <map>
#include <string>

#include "tests/end_to_end/arrays.h"

namespace cairn::testing {

// A synchronous job of learnable noise (the class is the quarter that holds the largest sum) for a
// small network with dropout, trained with Adam; an epoch has 250 batches. Two runs of it must give
// the same bits whatever happens to the cluster.
struct AdamJob {
  std::string name = "sync";
  int64_t batches_per_update = 4;
  int64_t epochs = 12;
  int64_t checkpoint_every = 0;
};

// The path of the job file.
std::string WriteAdamJob(const std::string& folder, const AdamJob& job = {});

// Fails the test unless both exports of such a job are the same.
void ExpectSameBits(const std::map<std::string, Array>& a, const std::map<std::string, Array>& b);

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_END_TO_END_ADAM_JOB_H_
