#ifndef CAIRN_WORKER_DATA_CIFAR_FILE_H_
#define CAIRN_WORKER_DATA_CIFAR_FILE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "worker/data/array.h"
#include "worker/data/files/file_bytes.h"

namespace cairn::worker {

// How CIFAR's binary versions (https://www.cs.toronto.edu/~kriz/cifar.html) put an example: some
// bytes of labels, then 3072 of the image: 1024 red, 1024 green, 1024 blue, each row by row.
struct CifarKind {
  const char* name;
  int label_bytes;  // Before the image.
  int label;        // Which of them is the label.
  int classes;
};

inline constexpr CifarKind kCifar10 = {"CIFAR-10", 1, 0, 10};
inline constexpr CifarKind kCifar100Coarse = {"CIFAR-100", 2, 0, 20};
inline constexpr CifarKind kCifar100Fine = {"CIFAR-100", 2, 1, 100};

struct CifarArrays {
  Array images;  // uint8 (rows, 32, 32, 3): height, width, channel.
  Array labels;  // uint8 (rows,).
};

// InvalidArgument: not a whole number of examples, or a label that the kind has not, which is how
// other files show.
absl::StatusOr<CifarArrays> ReadCifarFile(std::shared_ptr<const FileBytes> file,
                                          const CifarKind& kind);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CIFAR_FILE_H_
