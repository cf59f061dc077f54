#ifndef CAIRN_TESTS_END_TO_END_BAD_INPUT_TABLES_H_
#define CAIRN_TESTS_END_TO_END_BAD_INPUT_TABLES_H_

#include <vector>

#include "tests/end_to_end/bad_input/bad_case.h"

namespace cairn::testing {

// One table for each kind of input, in tables/*.cc.
InputKind TfConfig();
InputKind DaemonFlags();
InputKind CairnFlags();
InputKind JobFile();
InputKind ModelsJobs();
InputKind Model();
InputKind Weights();
InputKind NpyData();
InputKind IdxData();
InputKind CsvData();
InputKind CifarData();
InputKind TfrecordData();
InputKind NpzData();
InputKind ImagesData();
InputKind ParquetData();
InputKind TextData();
InputKind Prediction();
InputKind State();

// All tables, in the order of doc/errors.md.
inline std::vector<InputKind> AllInputKinds() {
  return {TfConfig(), DaemonFlags(), CairnFlags(),  JobFile(),  ModelsJobs(), Model(),
          Weights(),  NpyData(),     IdxData(),     CsvData(),  CifarData(),  TfrecordData(),
          NpzData(),  ImagesData(),  ParquetData(), TextData(), Prediction(), State()};
}

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_END_TO_END_BAD_INPUT_TABLES_H_
