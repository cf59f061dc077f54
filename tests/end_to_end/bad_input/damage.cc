#include "tests/end_to_end/bad_input/damage.h"

#include <glob.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/process.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string Repeated(const std::string& text, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += text;
  return bytes;
}

// Version 1: magic, the length of the header in two bytes, the header, the elements.
std::string NpyBytes(const Step& step) {
  const std::string header = std::string(step.text) + "\n";
  std::string bytes("\x93NUMPY\x01\0", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  const auto value = static_cast<float>(step.value);
  std::string element(sizeof value, '\0');
  std::memcpy(element.data(), &value, sizeof value);
  return bytes + header + Repeated(element, step.count);
}

json Changed(json document, const Step& step) {
  if (step.kind == Step::Kind::kPatch) {
    document.merge_patch(json::parse(step.text));
    return document;
  }
  json operation = {{"path", step.text}};
  if (step.kind == Step::Kind::kDrop) {
    operation["op"] = "remove";
  } else {
    const bool is_there = document.contains(json::json_pointer(std::string(step.text)));
    operation["op"] = is_there && step.kind == Step::Kind::kSet ? "replace" : "add";
    operation["value"] = json::parse(step.more);
  }
  return document.patch(json::array({operation}));
}

// Finds the file of this name.
std::string Find(const std::string& path) {
  glob_t found{};
  const int error = glob(path.c_str(), 0, nullptr, &found);
  const std::string name = error == 0 ? found.gl_pathv[0] : "";
  globfree(&found);
  if (name.empty()) throw std::runtime_error("there is no " + path);
  return name;
}

// The contents of the file that a step creates.
std::string BytesOf(const Step& step, const std::string& folder) {
  switch (step.kind) {
    case Step::Kind::kWrite:
      return std::string(step.text) + Repeated(std::string(step.more), step.count);
    case Step::Kind::kNpy:
      return NpyBytes(step);
    case Step::Kind::kGzip:
      return Packed(ReadFile(Find(folder + "/" + std::string(step.text))));
    default:
      return ReadFile(Find(folder + "/" + std::string(step.text)));
  }
}

void Change(const Step& step, const std::string& path, const std::string& coordinator) {
  if (step.kind == Step::Kind::kRemove) {
    fs::remove_all(path);
  } else if (step.kind == Step::Kind::kForbid) {
    fs::permissions(path, fs::perms::none);
  } else if (step.kind == Step::Kind::kCut) {
    fs::resize_file(path, fs::file_size(path) * step.count / 100);
  } else if (step.kind == Step::Kind::kFlip) {
    std::string bytes = ReadFile(path);
    bytes.at(bytes.size() * step.count / 100) ^= 0x55;
    WriteFile(path, bytes);
  } else {
    const std::string text = Changed(json::parse(ReadFile(path)), step).dump();
    WriteFile(path, absl::StrReplaceAll(text, {{"${COORDINATOR}", coordinator}}));
  }
}

}  // namespace

std::string Packed(const std::string& bytes) {
  std::string packed(compressBound(bytes.size()) + 64, '\0');
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, /*windowBits, gzip=*/15 + 16,
               /*memLevel=*/8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

void Do(const Step& step, const std::string& folder, const std::string& coordinator) {
  const std::string path = folder + "/" + std::string(step.file);
  switch (step.kind) {
    case Step::Kind::kNothing:
      return;
    case Step::Kind::kWrite:
    case Step::Kind::kNpy:
    case Step::Kind::kGzip:
    case Step::Kind::kCopy:
      fs::create_directories(fs::path(path).parent_path());
      return WriteFile(path, BytesOf(step, folder));
    case Step::Kind::kFolder:
      fs::remove_all(path);
      fs::create_directories(path);
      return;
    default:
      return Change(step, Find(path), coordinator);
  }
}

}  // namespace cairn::testing
