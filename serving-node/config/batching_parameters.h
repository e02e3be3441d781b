// Reads TensorFlow Serving's batching parameters, from the file of --batching_parameters_file or from a file next to a
// version's saved_model.pb.
//
//   max_batch_size { value: 32 }        # Most rows that run together. Default 1000.
//   batch_timeout_micros { value: 500 } # How long a request waits for others. Default 0: only queued requests join.
//   max_enqueued_batches { value: 4 }   # Full batches that may wait; further requests get UNAVAILABLE. Default 10.
//   allowed_batch_sizes: 8              # Batches are padded to the next larger of these.
//   allowed_batch_sizes: 32
//   pad_variable_length_inputs: true    # Rows of different sizes may run together.
//   enable_large_batch_splitting { value: true }   # Requests of up to max_batch_size rows are split into batches
//   max_execution_batch_size { value: 32 }         # of at most this size; ignored without the line above.
#pragma once

#include "common/base/error.h"
#include "common/base/path.h"
#include "serving-node/batching/batching.h"

namespace longshore::config {

// The name of the file in a version's directory.
inline constexpr const char* kVersionBatchingFile = "batching_params.pbtxt";

struct Batching {
  batching::Options options;
  int threads = 0;  // num_batch_threads: concurrent batches; 0: not set.
};

// Returns TensorFlow Serving's defaults, for the parameters that a file does not set.
batching::Options DefaultBatching();

// Parses the text. Returns the first error as InvalidArgument "<what>:<line>:<column>: <field> ...": a number out of
// range, an unknown field, or allowed_batch_sizes that are not increasing or do not end with the maximum batch size.
Result<Batching> ParseBatching(std::string_view text, const std::string& what);

// Like ParseBatching, from a file. Returns NotFound if the file does not exist.
Result<Batching> ReadBatching(const Path& file);

}  // namespace longshore::config
