/*
 * Loaded into the program with LD_PRELOAD, between SQLite and the kernel. It counts every write, truncation and sync of
 * the database's files and can end the process at one of them, in the middle of one, or let it fail. Where a log is
 * asked for it also writes down what was written and what was synced, in order: enough to build any image that a power
 * cut could have left behind.
 *
 * DISK_DATABASE  the database; its -wal, -journal and -shm belong to it
 * DISK_CONTROL   a file of eight 64-bit numbers, shared with whoever watches: see `struct control`
 * DISK_LOG       where the log is appended; none without it
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NO_FILE, DATABASE, WAL, JOURNAL, SHM, FOLDER, PROGRESS };
enum { WRITE = 1, TRUNCATE, SYNC, SYNC_FAILED, CREATE, UNLINK };
enum { NOTHING, KILL, TEAR, FAIL };

struct control {
  volatile int64_t operations; /* so many were begun */
  volatile int64_t action;     /* what happens to the operations from `from` until before `until` */
  volatile int64_t from;
  volatile int64_t until;
  volatile int64_t error;      /* errno of FAIL */
  volatile int64_t hit;        /* so many operations it happened to */
  volatile int64_t hit_kind;   /* what the first of them was, and of which file */
  volatile int64_t hit_file;
};

struct record {
  uint8_t kind, file;
  uint16_t zero;
  uint32_t length;
  int64_t offset;
};

#define FDS_MAX 65536
static uint8_t files[FDS_MAX];
static struct control nowhere, *control = &nowhere;
static char database[PATH_MAX], folder[PATH_MAX];
static int log_fd = -1;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int (*real_open)(const char *, int, ...);
static int (*real_openat)(int, const char *, int, ...);
static int (*real_close)(int);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off64_t);
static int (*real_ftruncate)(int, off64_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_unlink)(const char *);

__attribute__((constructor)) static void begin(void) {
  real_open = dlsym(RTLD_NEXT, "open64");
  real_openat = dlsym(RTLD_NEXT, "openat64");
  real_close = dlsym(RTLD_NEXT, "close");
  real_write = dlsym(RTLD_NEXT, "write");
  real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
  real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
  real_fsync = dlsym(RTLD_NEXT, "fsync");
  real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
  real_unlink = dlsym(RTLD_NEXT, "unlink");
  const char *file = getenv("DISK_DATABASE");
  if (file == NULL || strlen(file) >= sizeof database) return;
  strcpy(database, file);
  strcpy(folder, file);
  char *slash = strrchr(folder, '/');
  if (slash != NULL) *slash = '\0';
  const char *shared = getenv("DISK_CONTROL");
  int fd = shared == NULL ? -1 : real_open(shared, O_RDWR | O_CLOEXEC);
  if (fd >= 0) {
    void *map = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) control = map;
    real_close(fd);
  }
  const char *log = getenv("DISK_LOG");
  if (log != NULL) log_fd = real_open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

static int file_of(const char *path) {
  if (database[0] == '\0' || path == NULL) return NO_FILE;
  if (strcmp(path, folder) == 0) return FOLDER;
  size_t length = strlen(database);
  if (strncmp(path, database, length) != 0) return NO_FILE;
  const char *rest = path + length;
  if (*rest == '\0') return DATABASE;
  if (strcmp(rest, "-wal") == 0) return WAL;
  if (strcmp(rest, "-journal") == 0) return JOURNAL;
  if (strcmp(rest, "-shm") == 0) return SHM;
  if (strcmp(rest, ".progress") == 0) return PROGRESS;
  return NO_FILE;
}

/* Node closes files past the functions below, and a socket may have the number by now. */
static int file_at(int fd) {
  struct stat found;
  if (fd < 0 || fd >= FDS_MAX || files[fd] == NO_FILE) return NO_FILE;
  if (fstat(fd, &found) != 0 || !(S_ISREG(found.st_mode) || S_ISDIR(found.st_mode))) files[fd] = NO_FILE;
  return files[fd];
}

static void note(int kind, int file, int64_t offset, const void *data, size_t length) {
  if (log_fd < 0 || file == SHM || file == PROGRESS) return;
  struct record record = {kind, file, 0, (uint32_t)length, offset};
  struct iovec parts[2] = {{&record, sizeof record}, {(void *)data, length}};
  /* Past the functions below: the log is not one of the files that are watched. */
  syscall(SYS_writev, log_fd, parts, length > 0 ? 2 : 1);
}

/* Counts the operation; what is to happen to it. KILL does not return. */
static int meet(int kind, int file) {
  int64_t number = __sync_add_and_fetch(&control->operations, 1);
  int64_t action = control->action;
  if (action == NOTHING || number < control->from || number >= control->until) return NOTHING;
  if (__sync_add_and_fetch(&control->hit, 1) == 1) {
    control->hit_kind = kind;
    control->hit_file = file;
  }
  if (action == KILL || (action == TEAR && kind != WRITE)) {
    kill(getpid(), SIGKILL);
    pause();
  }
  if (action == FAIL) errno = (int)control->error;
  return (int)action;
}

static ssize_t write_watched(int fd, const void *data, size_t length, off64_t offset) {
  int file = file_at(fd);
  pthread_mutex_lock(&mutex);
  int action = meet(WRITE, file);
  if (action == FAIL) {
    int error = errno;
    pthread_mutex_unlock(&mutex);
    errno = error;
    return -1;
  }
  size_t part = action == TEAR ? length / 2 : length;
  note(WRITE, file, offset, data, part);
  ssize_t written = real_pwrite(fd, data, part, offset);
  if (action == TEAR) {
    kill(getpid(), SIGKILL);
    pause();
  }
  int error = errno;
  pthread_mutex_unlock(&mutex);
  errno = error;
  return written;
}

static int sync_watched(int fd, int (*real)(int)) {
  int file = file_at(fd);
  pthread_mutex_lock(&mutex);
  int result = -1, error;
  if (meet(SYNC, file) == FAIL) {
    error = errno;
    note(SYNC_FAILED, file, 0, NULL, 0);
  } else {
    result = real(fd);
    error = errno;
    note(result == 0 ? SYNC : SYNC_FAILED, file, 0, NULL, 0);
  }
  pthread_mutex_unlock(&mutex);
  errno = error;
  return result;
}

static int opened(int fd, const char *path, int flags, int was_there) {
  if (fd < 0 || fd >= FDS_MAX) return fd;
  int file = file_of(path);
  files[fd] = (uint8_t)file;
  if (file == NO_FILE || file == FOLDER || file == SHM) return fd;
  pthread_mutex_lock(&mutex);
  if (!was_there && (flags & O_CREAT)) note(CREATE, file, 0, NULL, 0);
  if (flags & O_TRUNC) note(TRUNCATE, file, 0, NULL, 0);
  pthread_mutex_unlock(&mutex);
  return fd;
}

static int is_there(const char *path) { return file_of(path) == NO_FILE || access(path, F_OK) == 0; }

#define MODE_OF(flags, last) \
  mode_t mode = 0; \
  if ((flags) & (O_CREAT | O_TMPFILE)) { \
    va_list list; \
    va_start(list, last); \
    mode = va_arg(list, mode_t); \
    va_end(list); \
  }

int open(const char *path, int flags, ...) {
  MODE_OF(flags, flags)
  int was_there = is_there(path);
  return opened(real_open(path, flags, mode), path, flags, was_there);
}

int open64(const char *path, int flags, ...) {
  MODE_OF(flags, flags)
  int was_there = is_there(path);
  return opened(real_open(path, flags, mode), path, flags, was_there);
}

int openat(int at, const char *path, int flags, ...) {
  MODE_OF(flags, flags)
  int was_there = is_there(path);
  return opened(real_openat(at, path, flags, mode), path, flags, was_there);
}

int openat64(int at, const char *path, int flags, ...) {
  MODE_OF(flags, flags)
  int was_there = is_there(path);
  return opened(real_openat(at, path, flags, mode), path, flags, was_there);
}

int close(int fd) {
  if (fd >= 0 && fd < FDS_MAX) files[fd] = NO_FILE;
  return real_close(fd);
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) {
  return file_at(fd) == NO_FILE ? real_pwrite(fd, data, length, offset) : write_watched(fd, data, length, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
  return file_at(fd) == NO_FILE ? real_pwrite(fd, data, length, offset) : write_watched(fd, data, length, offset);
}

ssize_t write(int fd, const void *data, size_t length) {
  if (file_at(fd) == NO_FILE) return real_write(fd, data, length);
  off64_t offset = lseek64(fd, 0, SEEK_CUR);
  ssize_t written = write_watched(fd, data, length, offset);
  if (written > 0) lseek64(fd, offset + written, SEEK_SET);
  return written;
}

static int truncate_watched(int fd, off64_t length) {
  int file = file_at(fd);
  pthread_mutex_lock(&mutex);
  int result = -1, error;
  if (meet(TRUNCATE, file) == FAIL) {
    error = errno;
  } else {
    note(TRUNCATE, file, length, NULL, 0);
    result = real_ftruncate(fd, length);
    error = errno;
  }
  pthread_mutex_unlock(&mutex);
  errno = error;
  return result;
}

int ftruncate(int fd, off_t length) {
  return file_at(fd) == NO_FILE ? real_ftruncate(fd, length) : truncate_watched(fd, length);
}

int ftruncate64(int fd, off64_t length) {
  return file_at(fd) == NO_FILE ? real_ftruncate(fd, length) : truncate_watched(fd, length);
}

int fsync(int fd) { return file_at(fd) == NO_FILE ? real_fsync(fd) : sync_watched(fd, real_fsync); }

int fdatasync(int fd) { return file_at(fd) == NO_FILE ? real_fdatasync(fd) : sync_watched(fd, real_fdatasync); }

int unlink(const char *path) {
  int file = file_of(path);
  if (file == NO_FILE || file == FOLDER) return real_unlink(path);
  pthread_mutex_lock(&mutex);
  int action = meet(UNLINK, file);
  int result = -1, error = errno;
  if (action != FAIL) {
    note(UNLINK, file, 0, NULL, 0);
    result = real_unlink(path);
    error = errno;
  }
  pthread_mutex_unlock(&mutex);
  errno = error;
  return result;
}
