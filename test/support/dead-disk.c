/*
 * A disk that does not answer: loaded before the C library (LD_PRELOAD), it makes every call on a name below DEAD_PREFIX, and
 * on what is open there, wait as long as the file DEAD_FLAG exists. What is started with another environment gets it too.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char preload[PATH_MAX], prefix[PATH_MAX], flag[PATH_MAX];

static void keep(char *to, const char *name) {
  const char *value = getenv(name);
  if (value != NULL) snprintf(to, PATH_MAX, "%s", value);
}

__attribute__((constructor)) static void begin(void) {
  keep(preload, "LD_PRELOAD");
  keep(prefix, "DEAD_PREFIX");
  keep(flag, "DEAD_FLAG");
}

static void wait_for_name(const char *path) {
  if (prefix[0] == 0 || path == NULL || strncmp(path, prefix, strlen(prefix)) != 0) return;
  while (syscall(SYS_access, flag, 0) == 0) usleep(20000);
}

static void wait_for_file(int fd) {
  char link[64], path[PATH_MAX];
  if (prefix[0] == 0) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = syscall(SYS_readlink, link, path, sizeof path - 1);
  if (length <= 0) return;
  path[length] = 0;
  wait_for_name(path);
}

#define REAL(name)            \
  static typeof(name) *real;  \
  if (real == NULL) real = dlsym(RTLD_NEXT, #name)

int execvp(const char *file, char *const argv[]) {
  REAL(execvp);
  if (preload[0] != 0) {
    setenv("LD_PRELOAD", preload, 1);
    setenv("DEAD_PREFIX", prefix, 1);
    setenv("DEAD_FLAG", flag, 1);
  }
  wait_for_name(file);
  return real(file, argv);
}

#define MODE                 \
  va_list list;              \
  va_start(list, flags);     \
  int mode = va_arg(list, int); \
  va_end(list)

int open(const char *path, int flags, ...) { MODE; wait_for_name(path); REAL(open); return real(path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE; wait_for_name(path); REAL(open64); return real(path, flags, mode); }
int stat(const char *path, struct stat *to) { wait_for_name(path); REAL(stat); return real(path, to); }
int lstat(const char *path, struct stat *to) { wait_for_name(path); REAL(lstat); return real(path, to); }
int stat64(const char *path, struct stat64 *to) { wait_for_name(path); REAL(stat64); return real(path, to); }
int lstat64(const char *path, struct stat64 *to) { wait_for_name(path); REAL(lstat64); return real(path, to); }
int statx(int dir, const char *path, int flags, unsigned mask, struct statx *to) { wait_for_name(path); REAL(statx); return real(dir, path, flags, mask, to); }
int access(const char *path, int mode) { wait_for_name(path); REAL(access); return real(path, mode); }
int mkdir(const char *path, mode_t mode) { wait_for_name(path); REAL(mkdir); return real(path, mode); }
DIR *opendir(const char *path) { wait_for_name(path); REAL(opendir); return real(path); }
int scandir(const char *path, struct dirent ***names, int (*keep)(const struct dirent *), int (*order)(const struct dirent **, const struct dirent **)) { wait_for_name(path); REAL(scandir); return real(path, names, keep, order); }
int rename(const char *from, const char *to) { wait_for_name(to); REAL(rename); return real(from, to); }
int unlink(const char *path) { wait_for_name(path); REAL(unlink); return real(path); }
char *realpath(const char *path, char *to) { wait_for_name(path); REAL(realpath); return real(path, to); }
int statfs(const char *path, void *to) {
  static int (*real)(const char *, void *);
  if (real == NULL) real = dlsym(RTLD_NEXT, "statfs");
  wait_for_name(path);
  return real(path, to);
}
int fsync(int fd) { wait_for_file(fd); REAL(fsync); return real(fd); }
int fdatasync(int fd) { wait_for_file(fd); REAL(fdatasync); return real(fd); }
ssize_t write(int fd, const void *from, size_t size) { if (fd > 2) wait_for_file(fd); REAL(write); return real(fd, from, size); }
ssize_t pread64(int fd, void *to, size_t size, off64_t at) { wait_for_file(fd); REAL(pread64); return real(fd, to, size, at); }
ssize_t pwrite64(int fd, const void *from, size_t size, off64_t at) { wait_for_file(fd); REAL(pwrite64); return real(fd, from, size, at); }
