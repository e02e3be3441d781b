// A message body in a string that grows with what has arrived. Beast's own takes the memory that Content-Length
// announces before the first byte of it is there.
#pragma once

#include <algorithm>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <cstdint>
#include <string>

namespace longshore::http {

struct GrowingBody {
  using value_type = std::string;

  static uint64_t size(const std::string& body) { return body.size(); }

  // Beast's BodyReader: the parser has checked the length against its limit.
  class reader {
   public:
    template <bool IsRequest, typename Fields>
    reader(boost::beast::http::header<IsRequest, Fields>&, std::string& body) : body_(body) {}

    void init(const boost::optional<uint64_t>& length, boost::system::error_code& error) {
      length_ = length.value_or(UINT64_MAX);
      error = {};
    }

    template <typename Buffers>
    size_t put(const Buffers& buffers, boost::system::error_code& error) {
      const size_t added = boost::beast::buffer_bytes(buffers);
      const size_t needed = body_.size() + added;
      // Twice as much each time, but not beyond what was announced.
      if (needed > body_.capacity()) body_.reserve(std::max<uint64_t>(std::min<uint64_t>(2 * needed, length_), needed));
      for (const auto piece : boost::beast::buffers_range_ref(buffers)) {
        body_.append(static_cast<const char*>(piece.data()), piece.size());
      }
      error = {};
      return added;
    }

    void finish(boost::system::error_code& error) { error = {}; }

   private:
    std::string& body_;
    uint64_t length_ = UINT64_MAX;
  };
};

}  // namespace longshore::http
