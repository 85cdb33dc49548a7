/* A wall clock that a test can set, for one process and its children: LD_PRELOAD=this.so LC_WALLCLOCK=FILE.
 *
 * FILE holds one 64-bit number: nanoseconds that every reading of the wall clock is ahead of the machine's, at once
 * in all processes, as when somebody sets the clock of a machine. Clocks that only go forward are left alone.
 * Deadlines that were computed from the wall clock are turned back into the kernel's time before they are waited for,
 * so unlike a real step this one neither cuts nor lengthens a wait. Needs no privilege, changes nothing outside. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL
#define LONG_AGO 1000000000LL /* no machine has been up for so many seconds: a later time is the wall clock's */

static volatile int64_t *ahead;

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("LC_WALLCLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void *place = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (place != MAP_FAILED)
        ahead = place;
}

static struct timespec moved(struct timespec at, int64_t by) {
    int64_t nanoseconds = at.tv_sec * SECOND + at.tv_nsec + by;
    return (struct timespec){nanoseconds / SECOND, nanoseconds % SECOND};
}

static struct timespec kernels(const struct timespec *deadline) {
    return moved(*deadline, ahead && deadline->tv_sec > LONG_AGO ? -*ahead : 0);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && ahead && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        *now = moved(*now, *ahead);
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec at;
    (void)zone;
    int failed = clock_gettime(CLOCK_REALTIME, &at);
    now->tv_sec = at.tv_sec;
    now->tv_usec = at.tv_nsec / 1000;
    return failed;
}

time_t time(time_t *now) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    if (now)
        *now = at.tv_sec;
    return at.tv_sec;
}

int timespec_get(struct timespec *now, int base) {
    return base == TIME_UTC && !clock_gettime(CLOCK_REALTIME, now) ? base : 0;
}

/* Versions are named because an older one, of another layout, may come first; other processors have only one. */
#define REAL(name, version, ...) \
    ((int (*)(__VA_ARGS__))(dlvsym(RTLD_NEXT, name, version) ?: dlsym(RTLD_NEXT, name)))

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict deadline) {
    struct timespec at = kernels(deadline);
    return REAL("pthread_cond_timedwait", "GLIBC_2.3.2", pthread_cond_t *, pthread_mutex_t *, struct timespec *)(
        condition, mutex, &at);
}

int pthread_cond_clockwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, clockid_t clock,
                           const struct timespec *restrict deadline) {
    struct timespec at = kernels(deadline);
    return REAL("pthread_cond_clockwait", "GLIBC_2.30", pthread_cond_t *, pthread_mutex_t *, clockid_t,
                struct timespec *)(condition, mutex, clock, &at);
}

int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict deadline) {
    struct timespec at = kernels(deadline);
    return REAL("cnd_timedwait", "GLIBC_2.28", cnd_t *, mtx_t *, struct timespec *)(condition, mutex, &at);
}
