#ifndef CAIRN_NN_ORTHOGONAL_MATRIX_H_
#define CAIRN_NN_ORTHOGONAL_MATRIX_H_

#include <cstdint>
#include <vector>

namespace cairn::nn {

// Returns the Q of the QR decomposition, with a positive diagonal of R, of the matrix in `draws`:
// rows x columns, row-major, with orthonormal columns if rows >= columns and orthonormal rows
// otherwise. `draws` has rows x columns entries, which must be linearly independent, as random ones
// are. Used by the Orthogonal initializer (Saxe et al. 2014).
std::vector<double> OrthogonalMatrix(int64_t rows, int64_t columns, std::vector<double> draws);

}  // namespace cairn::nn

#endif  // CAIRN_NN_ORTHOGONAL_MATRIX_H_
