#include "worker/data/npz_file.h"

#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/printable.h"
#include "common/status_macros.h"
#include "worker/data/files/file_reader.h"
#include "worker/data/files/read_at.h"
#include "worker/data/files/spool.h"
#include "worker/data/npy_file.h"

namespace cairn::worker {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;
// The most names that a message lists.
constexpr zip_int64_t kNamesShown = 20;

struct DiscardArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseMember {
  void operator()(zip_file_t* member) const { zip_fclose(member); }
};
using Archive = std::unique_ptr<zip_t, DiscardArchive>;
using Member = std::unique_ptr<zip_file_t, CloseMember>;

// `name` is the file's name, with that of the array if the error is in it.
absl::Status ZipError(const std::string& name, zip_error_t* error) {
  const int code = zip_error_code_zip(error);
  // Errors of the disk, which may be transient.
  if (code == ZIP_ER_READ || code == ZIP_ER_SEEK || code == ZIP_ER_OPEN) {
    return CannotRead(name, zip_error_code_system(error));
  }
  return absl::DataLossError(absl::StrCat(
      "data file ", name, ": the zip archive is damaged: ", zip_error_strerror(error)));
}

// The error of a file that libzip does not take for an archive.
absl::Status NotAnArchive(const std::string& path) {
  CAIRN_ASSIGN_OR_RETURN(const int descriptor, OpenDataFile(path));
  std::string head(6, '\0');
  const absl::StatusOr<size_t> got = ReadAt(descriptor, 0, head.size(), head.data(), path);
  close(descriptor);
  CAIRN_RETURN_IF_ERROR(got.status());
  const char* reason = "not a .npz file: it is no zip archive";
  if (absl::StartsWith(head, "PK")) reason = "the end of the zip archive is missing: it is cut off";
  if (head == "\x93NUMPY") reason = "it is a .npy file; its format is \"npy\"";
  return absl::InvalidArgumentError(absl::StrCat("data file ", path, ": ", reason));
}

absl::StatusOr<Archive> OpenArchive(const std::string& path) {
  CAIRN_ASSIGN_OR_RETURN(const int descriptor, OpenDataFile(path));
  int code = 0;
  Archive archive(zip_fdopen(descriptor, 0, &code));
  if (archive != nullptr) return archive;  // It owns the descriptor.
  const int system_error = errno;
  close(descriptor);
  if (code == ZIP_ER_NOZIP) return NotAnArchive(path);
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  zip_error_set(&error, code, system_error);
  absl::Status status = ZipError(path, &error);
  zip_error_fini(&error);
  return status;
}

std::string ArrayNames(zip_t* archive) {
  std::vector<std::string> names;
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  for (zip_int64_t i = 0; i < std::min(count, kNamesShown); ++i) {
    const char* const name = zip_get_name(archive, i, ZIP_FL_ENC_GUESS);
    if (name == nullptr) continue;
    names.push_back(PrintableLine(std::string(absl::StripSuffix(name, ".npy"))));
  }
  return absl::StrCat(
      absl::StrJoin(names, ", "),
      count > kNamesShown ? absl::StrCat(" and ", count - kNamesShown, " more") : "");
}

// The index of an array, as NumPy finds it: without or with the extension.
absl::StatusOr<zip_int64_t> FindArray(const std::string& path, zip_t* archive,
                                      const std::string& name) {
  for (const std::string& member : {name + ".npy", name}) {
    const zip_int64_t index = zip_name_locate(archive, member.c_str(), ZIP_FL_ENC_GUESS);
    if (index >= 0) return index;
  }
  return absl::InvalidArgumentError(absl::StrCat("data file ", path, ": it has no array \"", name,
                                                 "\"; it has ", ArrayNames(archive)));
}

// The contents of a member, whose checksum is verified.
absl::StatusOr<std::shared_ptr<const FileBytes>> ReadMember(const std::string& name, zip_t* archive,
                                                            zip_int64_t index,
                                                            DataStorage* storage) {
  const auto malformed = [&name](const std::string& reason) {
    return absl::InvalidArgumentError(absl::StrCat("data file ", name, ": ", reason));
  };
  zip_stat_t stat;
  if (zip_stat_index(archive, index, 0, &stat) != 0) return ZipError(name, zip_get_error(archive));
  constexpr zip_uint64_t kNeeded =
      ZIP_STAT_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if ((stat.valid & kNeeded) != kNeeded) return malformed("the zip archive lacks its size");
  if (stat.encryption_method != ZIP_EM_NONE) return malformed("it is encrypted");
  if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE) {
    return malformed(absl::StrCat("it is compressed by method ", stat.comp_method,
                                  "; numpy.savez_compressed deflates (method 8)"));
  }
  const Member member(zip_fopen_index(archive, index, 0));
  if (member == nullptr) return ZipError(name, zip_get_error(archive));
  Spool spool(name, storage);
  std::string chunk(kChunkBytes, '\0');
  zip_uint64_t size = 0;
  while (true) {
    // At the end, libzip verifies the checksum.
    const zip_int64_t got = zip_fread(member.get(), chunk.data(), chunk.size());
    if (got < 0) return ZipError(name, zip_file_get_error(member.get()));
    if (got == 0) break;
    size += got;
    if (size > stat.size) break;
    CAIRN_RETURN_IF_ERROR(spool.Append(std::string_view(chunk.data(), got)));
  }
  if (size == stat.size) return spool.Finish();
  return absl::DataLossError(absl::StrCat("data file ", name, ": the zip archive is damaged: ",
                                          size, " bytes, its directory says ", stat.size));
}

}  // namespace

absl::StatusOr<std::vector<Array>> ReadNpzArrays(const std::string& path,
                                                 const std::vector<std::string>& names,
                                                 DataStorage* storage) {
  CAIRN_ASSIGN_OR_RETURN(const Archive archive, OpenArchive(path));
  std::vector<Array> arrays;
  for (const std::string& name : names) {
    CAIRN_ASSIGN_OR_RETURN(const zip_int64_t index, FindArray(path, archive.get(), name));
    CAIRN_ASSIGN_OR_RETURN(
        std::shared_ptr<const FileBytes> bytes,
        ReadMember(absl::StrCat(path, ", array ", name), archive.get(), index, storage));
    CAIRN_ASSIGN_OR_RETURN(arrays.emplace_back(), ReadNpyFile(std::move(bytes), storage));
  }
  return arrays;
}

absl::StatusOr<SourceArrays> ReadNpz(const ReadRequest& request) {
  const proto::NpzSource& npz = request.source.npz();
  std::vector<std::string> names(npz.features().begin(), npz.features().end());
  if (!request.label_specs.empty()) {
    names.insert(names.end(), npz.labels().begin(), npz.labels().end());
  }
  CAIRN_ASSIGN_OR_RETURN(
      const std::vector<std::vector<Array>> files,
      ReadAll<std::vector<Array>>(request.files.features[0], [&](const std::string& path) {
        return ReadNpzArrays(path, names, request.storage);
      }));
  const auto inputs = static_cast<size_t>(npz.features_size());
  SourceArrays result;
  result.inputs.resize(inputs);
  result.labels.resize(names.size() - inputs);
  for (const std::vector<Array>& arrays : files) {
    for (size_t i = 0; i < arrays.size(); ++i) {
      Array& all = i < inputs ? result.inputs[i] : result.labels[i - inputs];
      CAIRN_RETURN_IF_ERROR(Join(arrays[i], &all));
    }
  }
  return result;
}

}  // namespace cairn::worker
