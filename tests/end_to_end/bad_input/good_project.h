#ifndef CAIRN_TESTS_END_TO_END_BAD_INPUT_GOOD_PROJECT_H_
#define CAIRN_TESTS_END_TO_END_BAD_INPUT_GOOD_PROJECT_H_

#include <string>

namespace cairn::testing {

// Writes a folder of valid files:
//   job.json         the job "flowers": model.json on x.npy and y.npy, 16 examples of 8 numbers
//                    in 3 classes; idx.json, idx_gz.json, csv.json and cifar10.json train on other
//                    formats, pretrained.json starts from the weights of tfjs.json and weights.bin
//   TF_CONFIG.NAME   the environment variable for each daemon: at most ps 0 of 2, worker 0 of 2
// and the files that these name.
void WriteGoodProject(const std::string& folder);

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_END_TO_END_BAD_INPUT_GOOD_PROJECT_H_
