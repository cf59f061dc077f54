// TFRecord files of tf.train.Example. Mutations rarely have right checksums, so the input is read
// as a file and as the contents of a record.

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/check.h"
#include "nn/formats/crc32c.h"
#include "nn/model.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"
#include "tests/nn/test_model.h"
#include "worker/data/tfrecord/tfrecord_encoder.h"

namespace cairn::fuzz {
namespace {

void AddFeature(const std::string& name, proto::DataSource* source,
                const std::vector<std::string>& vocabulary = {}) {
  proto::DataFeature& feature = *source->mutable_tfrecord()->add_features();
  feature.set_name(name);
  if (name == "raw") {
    feature.set_decode("raw");
    feature.set_dtype("int16");
  }
  if (name == "tensor") {
    feature.set_decode("tensor");
    feature.set_dtype("int16");
    feature.set_default_(1);
  }
  if (name == "list") feature.set_max_length(3);
  if (name == "ints") feature.set_default_(1);
  feature.mutable_vocabulary()->Assign(vocabulary.begin(), vocabulary.end());
}

const worker::TfrecordEncoder& Encoder() {
  static const auto* const encoder = [] {
    const auto model = nn::testing::ModelOf(
        {{"in", "InputLayer", R"({"batch_shape": [null, 8]})"}, {"flat", "Flatten", "{}"}});
    proto::DataSource source;
    for (const char* const name : {"raw", "tensor", "list", "ints", "floats"}) {
      AddFeature(name, &source);
    }
    AddFeature("name", &source, {"a", "b"});
    source.set_skip_damaged(1);
    return new worker::TfrecordEncoder(source, {}, *model, {});
  }();
  return *encoder;
}

std::string Bytes(uint64_t value, size_t count) {
  std::string bytes(count, '\0');
  std::memcpy(bytes.data(), &value, count);
  return bytes;
}

std::string AsRecord(std::string_view contents) {
  const std::string length = Bytes(contents.size(), 8);
  return length + Bytes(nn::MaskedCrc(nn::Crc32c(length)), 4) + std::string(contents) +
         Bytes(nn::MaskedCrc(nn::Crc32c(contents)), 4);
}

// Whether the file has an example.
bool HasExample(std::string_view bytes) {
  const MemoryFile file(bytes);
  worker::DataStorage storage({.memory_bytes = 1 << 20, .spool_bytes = 1 << 24});
  const auto read = Encoder().ReadFile(file.path(), &storage);
  if (!read.ok()) return false;
  CAIRN_CHECK(read->rows.size() == 1);
  CAIRN_CHECK(static_cast<int64_t>(read->rows[0]->size()) ==
              read->examples * Encoder().layouts().row_bytes(0));
  return read->examples > 0;
}

}  // namespace

bool RunInput(std::string_view input) {
  const bool is_file = HasExample(input);
  const bool is_record = HasExample(AsRecord(input));
  return is_file || is_record;
}

}  // namespace cairn::fuzz
