#include "worker/data/csv/csv_blocks.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/simd.h"
#include "common/status_macros.h"

namespace cairn::worker {
namespace {

CAIRN_SIMD int64_t CountLines(const char* text, size_t size) {
  int64_t lines = 0;
  // The largest count of a byte: byte counters make the widest vectors.
  constexpr size_t kPiece = 255;
  for (size_t begin = 0; begin < size; begin += kPiece) {
    const size_t count = std::min(kPiece, size - begin);
    uint8_t found = 0;
    for (size_t i = 0; i < count; ++i) found += text[begin + i] == '\n';
    lines += found;
  }
  return lines;
}

}  // namespace

CsvBlocks::CsvBlocks(std::unique_ptr<FileReader> reader, size_t block_bytes)
    : reader_(std::move(reader)), block_bytes_(block_bytes) {}

absl::StatusOr<bool> CsvBlocks::Next(CsvBlock* block) {
  CAIRN_RETURN_IF_ERROR(failure_);
  std::string& text = block->text;
  text.assign(rest_);
  size_t cut = 0;
  while (cut == 0 && !last_) {
    const size_t before = text.size();
    CAIRN_RETURN_IF_ERROR(reader_->Read(block_bytes_, &text));
    last_ = text.size() - before < block_bytes_;
    cut = last_ ? text.size() : FindCut(text);
    if (cut > 0 || text.size() <= kRecordBytesMax) continue;
    failure_ = Malformed(absl::StrCat("line ", line_, ": it does not end within ",
                                      kRecordBytesMax >> 20, " MiB; is a quote not closed?"));
    cut = text.size();
  }
  rest_.assign(text, cut);
  seen_ = rest_.size();
  text.resize(cut);
  if (line_ == 1) CAIRN_RETURN_IF_ERROR(SkipMark(&text));
  block->line = line_;
  line_ += CountLines(text.data(), text.size());
  return cut > 0;
}

absl::Status CsvBlocks::SkipMark(std::string* text) const {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (text->compare(0, kMark.size(), kMark) == 0) text->erase(0, kMark.size());
  const std::string_view head = std::string_view(*text).substr(0, 2);
  if (head != "\xff\xfe" && head != "\xfe\xff") return absl::OkStatus();
  return Malformed("line 1, field 1: the file is UTF-16; write it as UTF-8");
}

size_t CsvBlocks::FindCut(const std::string& text) {
  size_t cut = 0;
  while (seen_ < text.size()) {
    const size_t quote = std::min(text.find('"', seen_), text.size());
    if (!quoted_) {
      const size_t plain = quote - seen_;
      const size_t newline = std::string_view(text).substr(seen_, plain).rfind('\n');
      if (newline != std::string_view::npos) cut = seen_ + newline + 1;
    }
    if (quote < text.size()) quoted_ = !quoted_;
    seen_ = std::min(quote + 1, text.size());
  }
  return cut;
}

}  // namespace cairn::worker
