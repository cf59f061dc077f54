#ifndef CAIRN_TESTS_END_TO_END_ADAM_JOB_H_
#define CAIRN_TESTS_END_TO_END_ADAM_JOB_H_

#include <cstdint>
#include <map>
#include <string>

#include "nlohmann/json.hpp"
#include "tests/end_to_end/arrays.h"

namespace cairn::testing {

// A synchronous job: a small convolutional network with batch normalization and dropout, trained
// with Adam on random inputs whose class is the quarter with the largest sum. An epoch has 250
// batches. All runs must give the same bits, whatever fails in the cluster.
struct AdamJob {
  std::string name = "sync";
  int64_t batches_per_update = 4;
  int64_t epochs = 12;
  int64_t checkpoint_every = 0;
  // The job's "strategy"; null: synchronous parameter servers with batches_per_update.
  nlohmann::json strategy = nullptr;
  // Instead of the convolutional network: an LSTM with dropout and a Bidirectional of a GRU.
  bool is_recurrent = false;
  std::string precision = "float32";
  double loss_weight = 1;
};

// Writes the files and returns the path of the job file.
std::string WriteAdamJob(const std::string& folder, const AdamJob& job = {});

// Fails the test unless both exports of such a job are equal.
void ExpectSameBits(const std::map<std::string, Array>& a, const std::map<std::string, Array>& b);

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_END_TO_END_ADAM_JOB_H_
