/* Counting calls and failing them on demand, for each library of the double:
 *   FAKE_CUDA_FAIL=cudaMalloc@7=2,cublasSgemm@1=13   the 7th call returns 2
 *   FAKE_CUDA_COUNT=FILE                "NAME CALLS" lines, appended at exit */
#ifndef FAKE_INJECT_H
#define FAKE_INJECT_H

/* Counts a call of fn; what it must return at once, or 0. */
int fake_injected(const char *fn);

#endif
