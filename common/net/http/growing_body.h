// A message body for Beast, in a string that grows with the received bytes. Beast's own string body allocates the whole
// Content-Length before the first byte arrives. Memory is counted before it is allocated; if the limit is reached,
// reading fails.
#pragma once

#include <algorithm>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/system/error_code.hpp>
#include <cstdint>
#include <string>

#include "common/net/http/held_bytes.h"

namespace longshore::http {

struct GrowingBody {
  struct value_type {
    std::string bytes = {};
    HeldBytes* held = nullptr;  // Null: memory is not counted.
  };

  static uint64_t size(const value_type& body) { return body.bytes.size(); }

  // Implements Beast's BodyReader. Beast's parser checks the length of the body against its limit.
  class reader {
   public:
    template <bool IsRequest, typename Fields>
    reader(boost::beast::http::header<IsRequest, Fields>&, value_type& body) : body_(body) {}

    void init(const boost::optional<uint64_t>& length, boost::system::error_code& error) {
      length_ = length.value_or(UINT64_MAX);
      error = {};
    }

    template <typename Buffers>
    size_t put(const Buffers& buffers, boost::system::error_code& error) {
      const size_t added = boost::beast::buffer_bytes(buffers);
      error = {};
      if (!HasRoomFor(body_.bytes.size() + added)) {
        error = make_error_code(boost::system::errc::not_enough_memory);
        return 0;
      }
      for (const auto piece : boost::beast::buffers_range_ref(buffers)) {
        body_.bytes.append(static_cast<const char*>(piece.data()), piece.size());
      }
      return added;
    }

    void finish(boost::system::error_code& error) { error = {}; }

   private:
    // Makes room for `needed` bytes: doubles the capacity, but not beyond the announced length. Returns false if the
    // limit for memory is reached.
    bool HasRoomFor(size_t needed) {
      if (needed <= body_.bytes.capacity()) return true;
      const size_t room = std::max<uint64_t>(std::min<uint64_t>(2 * needed, length_), needed);
      if (body_.held != nullptr && !body_.held->Hold(room)) return false;
      std::string grown;  // A new string: enlarging one that is not empty could allocate more than `room`.
      grown.reserve(room);
      body_.bytes.swap(grown.append(body_.bytes));
      return true;
    }

    value_type& body_;
    uint64_t length_ = UINT64_MAX;
  };
};

}  // namespace longshore::http
