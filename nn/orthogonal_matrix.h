#ifndef CAIRN_NN_ORTHOGONAL_MATRIX_H_
#define CAIRN_NN_ORTHOGONAL_MATRIX_H_

#include <cstdint>
#include <vector>

namespace cairn::nn {

// The Q of the QR decomposition (the one whose R has a positive diagonal) of the tall matrix that
// `draws` fill: rows x columns, row-major, with orthonormal columns if rows >= columns and
// orthonormal rows otherwise. `draws` has rows x columns entries, linearly independent as random
// ones are.
std::vector<double> OrthogonalMatrix(int64_t rows, int64_t columns, std::vector<double> draws);

}  // namespace cairn::nn

#endif  // CAIRN_NN_ORTHOGONAL_MATRIX_H_
