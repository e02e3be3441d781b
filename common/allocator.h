// How jemalloc is set in the programs that are linked with it: included by their main.cc, once.
#pragma once

// Read by jemalloc before main. What was freed goes back to the system within a second, by a thread of jemalloc's own,
// so that no thread that answers requests does it; and each processor has its arena.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0";
}
