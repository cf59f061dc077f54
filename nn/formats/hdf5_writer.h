#ifndef CAIRN_NN_FORMATS_HDF5_WRITER_H_
#define CAIRN_NN_FORMATS_HDF5_WRITER_H_

#include <string>
#include <vector>

#include "nn/formats/imported_model.h"

namespace cairn::nn {

// A data set to write: its path, such as "layers/dense/vars/0", and its tensor.
struct Hdf5DataSet {
  std::string path;
  const NamedTensor* tensor = nullptr;
};

// The bytes of an HDF5 file with these data sets of float32 numbers, in the version that Hdf5File
// reads. The paths are unique, and none is the folder of another one. The values fill the shapes.
std::string WriteHdf5(const std::vector<Hdf5DataSet>& data_sets);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_HDF5_WRITER_H_
