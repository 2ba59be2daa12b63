/* Stands between one process and the files below one directory (LD_PRELOAD), counts the calls that reach them, and at
 * the n-th one dies, tears it, loses the power, or lets it fail. Nothing happens before `shim_arm`, and nothing in a
 * process that another one spawned.
 *
 * Kinds of calls: c create, x open to write, o open to read, r read, w write, s sync, t truncate, u unlink, m make a directory, p map.
 *
 * Power: whatever was not synced is undone before the process dies; a name that was not synced in its directory is
 * gone. With a seed some of the writes that were not synced have reached the disk all the same, in no order, and with an
 * odd one the names of files too. Names that were removed stay removed. The index of a write-ahead log (-shm) is left out: SQLite makes it again.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum mode { COUNT, KILL, TEAR, POWER, FAIL, FAIL_FROM };
enum { FILES = 1024, TRACED = 1 << 16 };

static struct {
    char directory[512], kinds[16];
    long at;
    enum mode mode;
    int argument; /* KILL: -; TEAR: 256ths that are written; POWER: seed; FAIL: errno */
    pid_t armed;
} plan;
static long count;
static char trace[TRACED];
static char *files[FILES]; /* path of each descriptor that is watched */

struct change {
    char kind;
    char *path, *before, *after;
    off_t at, size;
    size_t was, length;
    struct change *older, *newer;
};
static struct change *newest;

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (real == NULL) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

void shim_arm(const char *directory, const char *kinds, long at, int mode, int argument)
{
    strncpy(plan.directory, directory, sizeof plan.directory - 1);
    strncpy(plan.kinds, kinds, sizeof plan.kinds - 1);
    plan.at = at, plan.mode = mode, plan.argument = argument, plan.armed = getpid();
    count = 0;
    memset(trace, 0, sizeof trace);
}

void shim_disarm(void) { plan.armed = 0; }

const char *shim_trace(void) { return trace; }

static int watched(const char *path)
{
    size_t length = strlen(plan.directory);
    return plan.armed == getpid() && strncmp(path, plan.directory, length) == 0 &&
           (path[length] == '/' || path[length] == 0);
}

static const char *file(int descriptor)
{
    return plan.armed == getpid() && descriptor >= 0 && descriptor < FILES ? files[descriptor] : NULL;
}

static int is_index(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, "-shm") == 0;
}

static void note(char kind, const char *path, off_t at, const void *data, size_t length)
{
    struct stat found;
    if (plan.mode != POWER || is_index(path)) return;
    struct change *change = calloc(1, sizeof *change);
    change->kind = kind, change->path = strdup(path), change->at = at, change->length = length;
    if (kind == 'w' || kind == 't') {
        plan.armed = 0; /* what follows is ours */
        int descriptor = open(path, O_RDONLY);
        if (descriptor >= 0 && fstat(descriptor, &found) == 0) {
            change->size = found.st_size;
            if (kind == 't') length = found.st_size > at ? (size_t)(found.st_size - at) : 0;
            change->before = malloc(length + 1);
            ssize_t got = pread(descriptor, change->before, length, at);
            change->was = got > 0 ? (size_t)got : 0;
        }
        if (descriptor >= 0) close(descriptor);
        plan.armed = getpid();
        if (data != NULL) change->after = memcpy(malloc(length + 1), data, length);
    }
    change->older = newest;
    if (newest) newest->newer = change;
    newest = change;
}

/* What is on the disk now and cannot be lost any more. */
static void forget(const char *path, int names)
{
    for (struct change *change = newest; change; change = change->older) {
        char *slash = strrchr(change->path, '/');
        size_t parent = slash ? (size_t)(slash - change->path) : 0;
        int is_name = change->kind == 'c' || change->kind == 'm';
        if (is_name ? names && strlen(path) == parent && strncmp(change->path, path, parent) == 0
                    : !names && strcmp(change->path, path) == 0)
            change->kind = 0;
    }
}

/* A directory whose name is gone, with all that is in it. */
static void lose_directory(const char *path)
{
    for (struct change *change = newest; change; change = change->older) {
        size_t length = strlen(path);
        if (strncmp(change->path, path, length) == 0 && change->path[length] == '/') unlink(change->path);
    }
    rmdir(path);
}

static void lose_power(void)
{
    struct change *oldest = newest;
    int descriptor;
    unsigned draw = (unsigned)plan.argument;
    plan.armed = 0;
    for (struct change *change = newest; change; oldest = change, change = change->older) {
        if (change->kind == 'c' && !(plan.argument & 1)) unlink(change->path);
        if (change->kind == 'm') lose_directory(change->path);
        if (change->kind != 'w' && change->kind != 't') continue;
        if ((descriptor = open(change->path, O_WRONLY)) < 0) continue;
        if (pwrite(descriptor, change->before, change->was, change->at) < 0) abort();
        if (ftruncate(descriptor, change->size) < 0) abort();
        close(descriptor);
    }
    for (struct change *change = oldest; change && plan.argument; change = change->newer) {
        draw = draw * 1103515245u + 12345u;
        if (change->kind != 'w' || draw & 0x10000) continue;
        if ((descriptor = open(change->path, O_WRONLY)) < 0) continue;
        if (pwrite(descriptor, change->after, change->length, change->at) < 0) abort();
        close(descriptor);
    }
}

/* Whether this call has to fail; it does not come back where the process has to die before it. */
static int refused(char kind)
{
    if (strchr(plan.kinds, kind) == NULL) return 0;
    if (count < TRACED - 1) trace[count] = kind;
    count++;
    if (plan.mode == COUNT || count < plan.at || (count > plan.at && plan.mode != FAIL_FROM)) return 0;
    if (plan.mode == FAIL || plan.mode == FAIL_FROM) {
        errno = plan.argument;
        return 1;
    }
    if (plan.mode == TEAR && kind == 'w') return 0;
    if (plan.mode == POWER) lose_power();
    kill(getpid(), SIGKILL);
    return 0;
}

/* The call that never comes: the process dies after the last one. */
void shim_strike(void)
{
    if (plan.mode == POWER) lose_power();
    kill(getpid(), SIGKILL);
}

/* How much of a write of `length` bytes is done before the process dies; all of it where it lives on. */
static size_t torn(size_t length)
{
    if (plan.mode != TEAR || count != plan.at) return length;
    size_t part = length * (size_t)plan.argument / 256;
    return part == 0 ? 1 : part;
}

static void die_torn(void)
{
    if (plan.mode == TEAR && count == plan.at) kill(getpid(), SIGKILL);
}

static int opened(const char *path, int descriptor)
{
    if (descriptor >= 0 && descriptor < FILES) files[descriptor] = watched(path) ? strdup(path) : NULL;
    return descriptor;
}

static int refused_open(const char *path, int flags)
{
    int is_new;
    if (!watched(path)) return 0;
    is_new = (flags & O_CREAT) && access(path, F_OK) != 0;
    if (refused(is_new ? 'c' : (flags & O_ACCMODE) == O_RDONLY ? 'o' : 'x')) return 1;
    if (is_new) note('c', path, 0, NULL, 0);
    return 0;
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) \
    { \
        REAL(int, #name, const char *, int, ...); \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more); \
        return refused_open(path, flags) ? -1 : opened(path, real(path, flags, mode)); \
    }
OPEN(open)
OPEN(open64)

int close(int descriptor)
{
    REAL(int, "close", int);
    if (file(descriptor)) files[descriptor] = NULL;
    return real(descriptor);
}

#define READ(name, offset_type) \
    ssize_t name(int descriptor, void *data, size_t length, offset_type at) \
    { \
        REAL(ssize_t, #name, int, void *, size_t, offset_type); \
        return file(descriptor) && refused('r') ? -1 : real(descriptor, data, length, at); \
    }
READ(pread, off_t)
READ(pread64, off64_t)

ssize_t read(int descriptor, void *data, size_t length)
{
    REAL(ssize_t, "read", int, void *, size_t);
    return file(descriptor) && refused('r') ? -1 : real(descriptor, data, length);
}

#define WRITE(name, offset_type) \
    ssize_t name(int descriptor, const void *data, size_t length, offset_type at) \
    { \
        REAL(ssize_t, #name, int, const void *, size_t, offset_type); \
        if (!file(descriptor)) return real(descriptor, data, length, at); \
        if (refused('w')) return -1; \
        note('w', file(descriptor), at, data, length); \
        ssize_t done = real(descriptor, data, torn(length), at); \
        die_torn(); \
        return done; \
    }
WRITE(pwrite, off_t)
WRITE(pwrite64, off64_t)

ssize_t write(int descriptor, const void *data, size_t length)
{
    REAL(ssize_t, "write", int, const void *, size_t);
    if (!file(descriptor)) return real(descriptor, data, length);
    if (refused('w')) return -1;
    note('w', file(descriptor), lseek(descriptor, 0, SEEK_CUR), data, length);
    ssize_t done = real(descriptor, data, torn(length));
    die_torn();
    return done;
}

#define TRUNCATE(name, offset_type) \
    int name(int descriptor, offset_type size) \
    { \
        REAL(int, #name, int, offset_type); \
        if (!file(descriptor)) return real(descriptor, size); \
        if (refused('t')) return -1; \
        note('t', file(descriptor), size, NULL, 0); \
        return real(descriptor, size); \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define SYNC(name) \
    int name(int descriptor) \
    { \
        REAL(int, #name, int); \
        struct stat found; \
        if (!file(descriptor)) return real(descriptor); \
        if (refused('s')) return -1; \
        forget(file(descriptor), fstat(descriptor, &found) == 0 && S_ISDIR(found.st_mode)); \
        return real(descriptor); \
    }
SYNC(fsync)
SYNC(fdatasync)

int unlink(const char *path)
{
    REAL(int, "unlink", const char *);
    if (!watched(path)) return real(path);
    if (refused('u')) return -1;
    for (struct change *change = newest; change; change = change->older)
        if (strcmp(change->path, path) == 0) change->kind = 0;
    return real(path);
}

int mkdir(const char *path, mode_t mode)
{
    REAL(int, "mkdir", const char *, mode_t);
    if (!watched(path)) return real(path, mode);
    if (refused('m')) return -1;
    int done = real(path, mode);
    if (done == 0) note('m', path, 0, NULL, 0);
    return done;
}

#define MAP(name, offset_type) \
    void *name(void *where, size_t length, int protection, int flags, int descriptor, offset_type at) \
    { \
        REAL(void *, #name, void *, size_t, int, int, int, offset_type); \
        return file(descriptor) && refused('p') ? MAP_FAILED : real(where, length, protection, flags, descriptor, at); \
    }
MAP(mmap, off_t)
MAP(mmap64, off64_t)
