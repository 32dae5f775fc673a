/*
 * Preloaded into a process, it kills the process within a commit of its store. KILL_IN_COMMIT consists of a step and the number of
 * the commit: `pages` before the pages of the transaction are written, `meta` before the page that makes it the last transaction, or
 * `number` after that page is on disk, before the number in the lock file is advanced.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* The file begins with two meta pages; LMDB writes a part of one of them. */
enum { metas_bytes = 8192, page_bytes = 4096 };

static int is_store(int file) {
  static const char name[] = "/store.mdb";
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < (ssize_t)sizeof name - 1) return 0;
  path[length] = 0;
  return strcmp(path + length - (sizeof name - 1), name) == 0;
}

static void end_at(const char *step, long commit) {
  const char *at = getenv("KILL_IN_COMMIT");
  char wanted[16];
  long number;
  if (at == NULL || sscanf(at, "%15s %ld", wanted, &number) != 2) return;
  if (number == commit && strcmp(wanted, step) == 0) kill(getpid(), SIGKILL);
}

static long commits = 0;

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
  static ssize_t (*write_at)(int, const void *, size_t, off64_t);
  if (write_at == NULL) write_at = dlsym(RTLD_NEXT, "pwrite64");
  if (!is_store(file)) return write_at(file, bytes, count, at);
  int is_meta = at < metas_bytes && count < page_bytes;
  if (is_meta) commits++;
  end_at(is_meta ? "meta" : "pages", is_meta ? commits : commits + 1);
  ssize_t written = write_at(file, bytes, count, at);
  if (is_meta) end_at("number", commits);
  return written;
}

/* Pages in a row. */
ssize_t writev(int file, const struct iovec *pages, int count) {
  static ssize_t (*write_all)(int, const struct iovec *, int);
  if (write_all == NULL) write_all = dlsym(RTLD_NEXT, "writev");
  if (is_store(file)) end_at("pages", commits + 1);
  return write_all(file, pages, count);
}
