// The settings of jemalloc. Included once, by the main.cc of each program that is linked with it.
#pragma once

// jemalloc reads this string before main begins. Freed memory is returned to the system within a second. A background
// thread of jemalloc does this, so that it costs the threads that answer requests no time.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0";
}
