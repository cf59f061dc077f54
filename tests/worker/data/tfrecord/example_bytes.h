#ifndef CAIRN_TESTS_WORKER_DATA_TFRECORD_EXAMPLE_BYTES_H_
#define CAIRN_TESTS_WORKER_DATA_TFRECORD_EXAMPLE_BYTES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// TFRecord files built byte by byte, so that the readers are tested against an independent writer.

namespace cairn::testing {

// A record with its length and both checksums.
std::string RecordBytes(const std::string& contents);

// A field of a protobuf message that is bytes.
std::string BytesField(int field, const std::string& bytes);
std::string Varint(uint64_t value);

// Serialized tf.train.Features. Numbers are packed, as TensorFlow writes them.
std::string IntsFeature(const std::vector<int64_t>& values);
std::string FloatsFeature(const std::vector<float>& values);
std::string BytesFeature(const std::vector<std::string>& values);

// A serialized tf.train.Example.
std::string ExampleBytes(const std::vector<std::pair<std::string, std::string>>& features);

// The bytes as a zlib stream.
std::string Zlib(const std::string& bytes);

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_WORKER_DATA_TFRECORD_EXAMPLE_BYTES_H_
