#ifndef CAIRN_WORKER_DATA_CIFAR_FILE_H_
#define CAIRN_WORKER_DATA_CIFAR_FILE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "worker/data/array.h"
#include "worker/data/data_reader.h"
#include "worker/data/files/file_bytes.h"

namespace cairn::worker {

// A variant of CIFAR's binary format (https://www.cs.toronto.edu/~kriz/cifar.html). An example is
// some label bytes and 3072 bytes of the image: 1024 red, 1024 green and 1024 blue, each in
// row-major order.
struct CifarKind {
  const char* name;
  int label_bytes;  // The number of label bytes before the image.
  int label;        // The index of the label among them.
  int classes;
};

inline constexpr CifarKind kCifar10 = {"CIFAR-10", 1, 0, 10};
inline constexpr CifarKind kCifar100Coarse = {"CIFAR-100", 2, 0, 20};
inline constexpr CifarKind kCifar100Fine = {"CIFAR-100", 2, 1, 100};

struct CifarArrays {
  Array images;  // uint8 (rows, 32, 32, 3): height, width, channel.
  Array labels;  // uint8 (rows,).
};

// InvalidArgument: the size is not a multiple of an example's, or a label is not below
// kind.classes. The format has no signature, so these checks are what detects other files.
absl::StatusOr<CifarArrays> ReadCifarFile(std::shared_ptr<const FileBytes> file,
                                          const CifarKind& kind);

// The DataReaders of CIFAR.
absl::StatusOr<SourceArrays> ReadCifar10(const ReadRequest& request);
absl::StatusOr<SourceArrays> ReadCifar100(const ReadRequest& request);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CIFAR_FILE_H_
