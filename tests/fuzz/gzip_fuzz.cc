// Decompresses the input as a gzipped body. The inflated bytes count as received, because the limit on request bodies
// counts them.
#include <zlib.h>

#include <algorithm>
#include <vector>

#include "common/net/http/inflate.h"
#include "tests/fuzz/fuzz.h"

const longshore::fuzz::Allowance longshore::fuzz::kAllowance = longshore::fuzz::kOfRequests;

namespace longshore::fuzz {
namespace {

constexpr size_t kPlainBytesMax = size_t{1} << 20;

// Returns the number of inflated bytes up to the first error, with constant memory.
size_t PlainBytes(std::string_view packed) {
  z_stream stream{};
  CHECK(inflateInit2(&stream, 15 + 32) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  Bytef piece[1024];
  size_t total = 0;
  int code = Z_OK;
  while ((code == Z_OK || (code == Z_STREAM_END && stream.avail_in > 0)) && total <= kPlainBytesMax) {
    if (code == Z_STREAM_END) inflateReset(&stream);
    stream.next_out = piece;
    stream.avail_out = sizeof piece;
    code = inflate(&stream, Z_NO_FLUSH);
    total += sizeof piece - stream.avail_out;
  }
  inflateEnd(&stream);
  return std::min(total, kPlainBytesMax);
}

}  // namespace
}  // namespace longshore::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longshore::fuzz;
  const size_t wanted = PlainBytes(View(data, size));
  AddReceived(wanted);
  const auto plain = longshore::http::Inflate(View(data, size), kPlainBytesMax);
  CHECK(!plain || plain->size() == wanted);
  return 0;
}
