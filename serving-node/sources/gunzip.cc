#include "serving-node/sources/gunzip.h"

#include <zlib.h>

#include <memory>
#include <vector>

namespace longshore::sources {
namespace {

constexpr int kGzip = 15 + 16;
constexpr size_t kPieceBytes = 64 << 10;

class Gunzip {
 public:
  explicit Gunzip(ByteSource compressed) : compressed_(std::move(compressed)), piece_(kPieceBytes) {
    CHECK(inflateInit2(&stream_, kGzip) == Z_OK);
  }
  ~Gunzip() { inflateEnd(&stream_); }
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  Result<size_t> Read(std::span<char> bytes) {
    stream_.next_out = reinterpret_cast<Bytef*>(bytes.data());
    stream_.avail_out = static_cast<uInt>(bytes.size());
    while (stream_.avail_out > 0) {
      if (stream_.avail_in == 0) RETURN_IF_ERROR(Refill());
      if (stream_.avail_in == 0 && between_members_) break;
      RETURN_IF_ERROR(Step());
    }
    return bytes.size() - stream_.avail_out;
  }

 private:
  Status Refill() {
    ASSIGN_OR_RETURN(const size_t read, compressed_(piece_));
    stream_.next_in = reinterpret_cast<Bytef*>(piece_.data());
    stream_.avail_in = static_cast<uInt>(read);
    return {};
  }

  Status Step() {
    if (stream_.avail_in == 0) return InvalidArgument("the gzip file is incomplete");
    between_members_ = false;
    const int code = inflate(&stream_, Z_NO_FLUSH);
    if (code == Z_STREAM_END) {
      between_members_ = true;
      return inflateReset(&stream_) == Z_OK ? Status() : InvalidArgument("the gzip file is damaged");
    }
    if (code != Z_OK && code != Z_BUF_ERROR) return InvalidArgument("the gzip file is damaged");
    return {};
  }

  const ByteSource compressed_;
  std::vector<char> piece_;
  z_stream stream_{};
  bool between_members_ = false;  // True after the end of a gzip member; the file may end only then.
};

}  // namespace

ByteSource Gunzipped(ByteSource compressed) {
  const auto gunzip = std::make_shared<Gunzip>(std::move(compressed));
  return [gunzip](std::span<char> bytes) { return gunzip->Read(bytes); };
}

}  // namespace longshore::sources
